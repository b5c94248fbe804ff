import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { bareEnvironment } from "./bare-environment";

/** The user that commands run as when the worker is root. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

const NOBODY: RunAs = { uid: 65_534, gid: 65_534, name: "nobody" };

/** Returns the user `nobody` when this process is root, else null: commands then run as the worker's own user. */
export function commandUser(): RunAs | null {
  if (process.getuid?.() !== 0) return null;
  const line = readLines("/etc/passwd").find((entry) => entry.startsWith("nobody:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (!uid || !gid || Number(uid) === 0) return NOBODY;
  return { uid: Number(uid), gid: Number(gid), name: "nobody" };
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    return [];
  }
}

/** True if the user passes this test on a path: `-r` read, `-x` execute or enter. */
export function canReach(runAs: RunAs | null, path: string, test: "-r" | "-x"): boolean {
  const done = spawnSync("/bin/sh", ["-c", `test ${test} "$1"`, "sh", path], {
    ...identity(runAs),
    cwd: "/",
    env: bareEnvironment(),
    stdio: "ignore",
  });
  return done.status === 0;
}

const OPEN_THROUGH = [
  "for fd; do last=$fd; done",
  'for fd; do [ "$fd" = "$last" ] || [ -x "/proc/self/fd/$fd" ] || exit 1; done',
  '[ -r "/proc/self/fd/$last" ]',
].join("\n");
const FIRST_FD = 3;

/**
 * True if the user may read an open file and enter the open folders on the way to it. A process of that user tries it.
 */
export async function mayRead(
  { uid, gid }: RunAs,
  { way, handle }: { readonly way: readonly FileHandle[]; readonly handle: FileHandle },
): Promise<boolean> {
  const handles = [...way, handle];
  const child = spawn("/bin/sh", ["-c", OPEN_THROUGH, "sh", ...handles.map((_, index) => String(FIRST_FD + index))], {
    uid,
    gid,
    cwd: "/",
    env: bareEnvironment(),
    stdio: ["ignore", "ignore", "ignore", ...handles.map(({ fd }) => fd)],
  });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => resolve(code === 0)).once("error", reject);
  });
}

/** True if the user can really run a program, which includes loading its libraries. */
export function canRun(runAs: RunAs | null, program: string, args: readonly string[]): boolean {
  const done = spawnSync(program, [...args], {
    ...identity(runAs),
    cwd: "/",
    env: bareEnvironment(),
    stdio: "ignore",
    timeout: 20_000,
  });
  return done.status === 0;
}

function identity(runAs: RunAs | null): { uid?: number; gid?: number } {
  return runAs ? { uid: runAs.uid, gid: runAs.gid } : {};
}
