// What the commands that walk a folder share: their options, and how much there is to do.
import { parseArgs } from "node:util";
import { walk } from "./walk.mjs";

/** The folder to walk, and what its files' paths begin with. */
export function folderOptions() {
  const { values } = parseArgs({ options: { folder: { type: "string" }, prefix: { type: "string", default: "" } } });
  const { folder, prefix } = values;
  if (folder === undefined) throw new Error("--folder is missing");
  return { folder, prefix: prefix === "" ? "" : `${prefix}/` };
}

/**
 * How many regular files there are, to measure progress by.
 * @param {string} folder
 */
export function countFiles(folder) {
  let count = 0;
  for (const _file of walk(folder, () => undefined)) count += 1;
  return count;
}
