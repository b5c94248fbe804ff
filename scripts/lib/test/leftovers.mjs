import { readdirSync, readFileSync } from "node:fs";

/**
 * Returns living processes with `marker` in their environment or command line, except this one. Linux only; elsewhere
 * none.
 * @param {string} marker
 * @returns {{ pid: number, command: string }[]}
 */
export function processesWith(marker) {
  return numbersIn("/proc").flatMap((pid) => {
    if (pid === process.pid) return [];
    const command = read(pid, "cmdline").replaceAll("\0", " ").trim();
    return command && `${command}${read(pid, "environ")}`.includes(marker) ? [{ pid, command }] : [];
  });
}

/** @param {string} folder */
function numbersIn(folder) {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/**
 * @param {number} pid
 * @param {string} file
 */
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
