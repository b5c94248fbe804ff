import { chmodSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { inRoot } from "./paths.mjs";

const WRITABLE_BY_OTHERS = 0o022;

/**
 * Removes write permission for group and others from the commands of this installation. A worker refuses files that
 * other users could change, and a clone made with umask 002 has only such files. Files of another user are left
 * unchanged; the worker reports them.
 */
export function tightenCommands(folder = inRoot("jobs")) {
  const below = readdirSync(path.join(folder, "scripts"), { recursive: true, encoding: "utf8" });
  const files = ["commands.json", ...below.map((name) => path.join("scripts", name))];
  for (const file of files.map((name) => path.join(folder, name))) {
    const { mode, uid } = statSync(file);
    const isOurs = process.getuid === undefined || uid === process.getuid();
    if (isOurs && mode & WRITABLE_BY_OTHERS) chmodSync(file, mode & 0o7777 & ~WRITABLE_BY_OTHERS);
  }
}
