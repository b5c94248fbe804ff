// Shared by the commands that walk a folder: their options, and how many files there are.
import { parseArgs } from "node:util";
import { walk } from "./walk.mjs";

/** Returns the folder to walk, and the prefix of its files' paths. */
export function folderOptions() {
  const { values } = parseArgs({ options: { folder: { type: "string" }, prefix: { type: "string", default: "" } } });
  const { folder, prefix } = values;
  if (folder === undefined) throw new Error("--folder is missing");
  return { folder, prefix: prefix === "" ? "" : `${prefix}/` };
}

/**
 * Counts the regular files, to measure progress by.
 * @param {string} folder
 */
export function countFiles(folder) {
  let count = 0;
  for (const _file of walk(folder, () => undefined)) count += 1;
  return count;
}
