import type { Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, isAbsolute, join } from "node:path";
import { canReach, type RunAs } from "../process/run-as";
import { HEADER_BYTES, isElf, readAt, readElf } from "./elf";
import { UntrustedFileError } from "./trust";

/** The user that runs a program, and the search path for programs without a path. */
export interface Launching {
  readonly runAs: RunAs | null;
  /** If undefined, the programs that `env` starts are not checked. */
  readonly path: string | undefined;
}

/** A script may name a script as its interpreter; the kernel follows five. */
const MOST_INTERPRETERS = 5;
const EXECUTE = 0o111;
const READ = 0o444;

/**
 * Refuses a file that the kernel would not run by itself: one without a `#!` line or an ELF header (the C library and
 * the shell would hand it to a shell), one that is not executable, or one whose interpreter or loader is missing.
 * @throws UntrustedFileError with the reason
 */
export async function checkRunnable(file: string, launching: Launching, depth = 0): Promise<void> {
  await checkMode(file, launching.runAs, "-x");
  const found = await lookInto(file);
  if (found === null) return;
  if (found.problem !== undefined) throw new UntrustedFileError(`${file} ${found.problem}`);
  if (found.interpreter === undefined) return;
  if (depth === MOST_INTERPRETERS) throw new UntrustedFileError(`${file} has too many interpreters in a row`);
  const { interpreter, argument } = found;
  if (!isAbsolute(interpreter)) throw new UntrustedFileError(`${file} names no absolute path after #!`);
  if ((await stat(interpreter).catch(() => null)) === null) {
    throw new UntrustedFileError(`${file} needs ${JSON.stringify(interpreter)}, which this worker does not have`);
  }
  await checkRunnable(interpreter, launching, depth + 1);
  if (basename(interpreter) === "env") await checkEnvProgram(file, argument, launching);
}

/** Refuses a file that the commands' user cannot read. @throws UntrustedFileError */
export const checkReadable = (file: string, runAs: RunAs | null): Promise<void> => checkMode(file, runAs, "-r");

interface Found {
  readonly problem?: string;
  /** Also the loader of an ELF file. */
  readonly interpreter?: string;
  readonly argument?: string;
}

/** Returns null when the file cannot be read: then no shell can read it either. */
async function lookInto(path: string): Promise<Found | null> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return null;
  try {
    const head = await readAt(file, 0, HEADER_BYTES);
    if (process.platform !== "linux" && head.readUInt16BE(0) !== 0x2321) return {};
    if (!isElf(head)) return shebangOf(head);
    const { problem, loader } = await readElf(file, head);
    return { ...(problem === undefined ? {} : { problem }), ...(loader ? { interpreter: loader } : {}) };
  } finally {
    await file.close();
  }
}

function shebangOf(head: Buffer): Found {
  const text = head.toString("latin1");
  const line = /^#![ \t]*([^ \t\n\0]+)([ \t\n])([^\n]*)/.exec(text);
  if (!line) return { problem: "is neither a program nor a script whose first line is #! and an interpreter" };
  const [, interpreter = "", after, argument = ""] = line;
  return {
    interpreter: Buffer.from(interpreter, "latin1").toString("utf8"),
    argument: after === "\n" ? "" : argument.trim(),
  };
}

/** `#!/usr/bin/env python3`: finds the program as `env` does. */
async function checkEnvProgram(file: string, argument = "", { runAs, path }: Launching): Promise<void> {
  const words = argument
    .replace(/^(-S|--split-string=?)\s*/, "")
    .split(/\s+/)
    .filter((word) => !word.includes("="));
  const [name] = words;
  if (path === undefined || !name || name.startsWith("-")) return;
  const candidates = name.includes("/") ? [name] : path.split(":").map((folder) => join(folder, name));
  for (const candidate of candidates) {
    if ((await checkMode(candidate, runAs, "-x").catch(() => "no")) !== "no") return;
  }
  throw new UntrustedFileError(`${file} needs the program ${JSON.stringify(name)}, which this worker does not have`);
}

async function checkMode(file: string, runAs: RunAs | null, test: "-r" | "-x"): Promise<void> {
  const info = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new UntrustedFileError(
      `${file} ${error.code === "ENOENT" ? "is missing" : `cannot be used (${error.code})`}`,
    );
  });
  // Access lists can allow more than the mode, so they are tried before a file is refused.
  if (isAllowed(info, runAs, test) || canReach(runAs, file, test)) return;
  const who = runAs ? `the user ${runAs.name}` : "the worker's user";
  throw new UntrustedFileError(`${file} cannot be ${test === "-x" ? "executed" : "read"} by ${who}`);
}

function isAllowed(info: Stats, runAs: RunAs | null, test: "-r" | "-x"): boolean {
  const bits = info.mode & (test === "-x" ? EXECUTE : READ);
  const uid = runAs?.uid ?? process.getuid?.() ?? 0;
  if (uid === 0) return test === "-r" || bits !== 0;
  if (info.uid === uid) return (bits & 0o700) !== 0;
  const groups = runAs ? [runAs.gid] : [process.getgid?.() ?? 0, ...(process.getgroups?.() ?? [])];
  return (bits & (groups.includes(info.gid) ? 0o070 : 0o007)) !== 0;
}
