import type { FileHandle } from "node:fs/promises";
import { open } from "node:fs/promises";

const CLASS_64 = 2;
const EXECUTABLE = 2;
const SHARED = 3;
const PT_INTERP = 3;
const MOST_HEADERS = 1024;
const LONGEST_PATH = 4096;

/** Bytes that the kernel reads before it takes a file for a program. */
export const HEADER_BYTES = 256;

export const isElf = (head: Buffer): boolean => head.length > 4 && head.readUInt32BE(0) === 0x7f454c46;

let native: Promise<string> | undefined;

/**
 * Returns why the kernel would not run an ELF file, if so, and the loader that the file asks for, if any. The C library
 * would hand a file that the kernel refuses to a shell.
 */
export async function readElf(file: FileHandle, head: Buffer): Promise<{ problem?: string; loader?: string }> {
  native ??= machineOf(process.execPath);
  if (kindOf(head) !== (await native)) return { problem: "is a program for another machine" };
  const is64 = head[4] === CLASS_64;
  const type = head.readUInt16LE(16);
  const offset = is64 ? Number(head.readBigUInt64LE(32)) : head.readUInt32LE(28);
  const size = head.readUInt16LE(is64 ? 54 : 42);
  const count = head.readUInt16LE(is64 ? 56 : 44);
  const isSound = (type === EXECUTABLE || type === SHARED) && size === (is64 ? 56 : 32) && count > 0;
  if (!isSound || count > MOST_HEADERS) return { problem: "is not a complete program" };
  const headers = await readAt(file, offset, size * count);
  if (headers.length < size * count) return { problem: "is not a complete program" };
  for (let at = 0; at < headers.length; at += size) {
    if (headers.readUInt32LE(at) !== PT_INTERP) continue;
    const from = is64 ? Number(headers.readBigUInt64LE(at + 8)) : headers.readUInt32LE(at + 4);
    const length = is64 ? Number(headers.readBigUInt64LE(at + 32)) : headers.readUInt32LE(at + 16);
    const path = await readAt(file, from, Math.min(length, LONGEST_PATH));
    return { loader: path.toString("utf8").replace(/\0.*$/s, "") };
  }
  return {};
}

/**
 * Returns class, byte order and machine. All machines that Node 20 runs on have little-endian releases; others are
 * compared whole.
 */
const kindOf = (head: Buffer): string =>
  head.length < 64 ? "" : `${head[4]}:${head[5]}:${head.subarray(18, 20).toString("hex")}`;

async function machineOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    return kindOf(await readAt(file, 0, HEADER_BYTES));
  } finally {
    await file.close();
  }
}

export async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
