import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/** Enough for everything that a test has open. */
const LIMIT = 512;

/** Runs `act` while this process can open only `free` further descriptors. Linux only. */
export async function withFewDescriptors<T>(free: number, act: () => Promise<T>): Promise<T> {
  const before = spawnSync("prlimit", ["--pid", String(process.pid), "--nofile", "--output=SOFT", "--noheadings"]);
  limit(String(LIMIT));
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch {
    // None is left.
  }
  for (const fd of taken.splice(0, free)) closeSync(fd);
  try {
    return await act();
  } finally {
    for (const fd of taken) closeSync(fd);
    limit(String(before.stdout).trim());
  }
}

function limit(soft: string): void {
  const { status, stderr } = spawnSync("prlimit", ["--pid", String(process.pid), `--nofile=${soft}:`]);
  if (status !== 0) throw new Error(`the limit of descriptors cannot be set: ${stderr}`);
}
