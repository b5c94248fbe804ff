import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { commandLine, makeFolder } from "../../lib/db/embedded/index.mjs";

/**
 * Takes the lock of a folder for this process, or returns the id of the living process that holds it. A dead process's
 * lock is taken over.
 * @param {string} home
 * @returns {number | null}
 */
export function takeLock(home) {
  makeFolder(home);
  const file = path.join(home, "start.lock");
  for (let tries = 0; tries < 5; tries++) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx", mode: 0o600 });
      process.on("exit", () => rmSync(file, { force: true }));
      return null;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = Number(readOrEmpty(file));
    if (holder !== process.pid && /start\.mjs/.test(commandLine(holder))) return holder;
    rmSync(file, { force: true });
  }
  throw new Error(`cannot take ${file}`);
}

/** @param {string} file */
function readOrEmpty(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
