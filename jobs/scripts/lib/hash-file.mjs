import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { closeSync, fstatSync, readSync } from "node:fs";

const buffer = Buffer.allocUnsafe(1024 * 1024);
const HEAD_BYTES = 4096;
/** The latest instant that a Date can hold; some file systems hold later ones. */
const LATEST_MS = 8.64e15;

/**
 * Reads a file to its end and closes it. Size and hash are of the bytes that were read, so they match even when the
 * file is written to meanwhile. Returns null when reading failed.
 * @param {number} fd
 */
export function hashFile(fd) {
  const hash = createHash("sha256");
  let size = 0;
  let head = Buffer.alloc(0);
  try {
    for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer)) {
      const bytes = buffer.subarray(0, read);
      if (size === 0) head = Buffer.from(bytes.subarray(0, HEAD_BYTES));
      hash.update(bytes);
      size += read;
    }
    return { size, sha256: hash.digest("hex"), head, modifiedMs: instantOf(fstatSync(fd).mtimeMs) };
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

/** @param {number} ms */
const instantOf = (ms) => Math.max(-LATEST_MS, Math.min(LATEST_MS, Math.floor(ms)));
