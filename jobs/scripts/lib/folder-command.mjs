// What the commands that walk a folder share: their options, and a root that cannot be opened.
import { parseArgs } from "node:util";
import { walk } from "./walk.mjs";

const EXIT_NOT_FOUND = 66;
const EXIT_NO_PERMISSION = 77;

/** The folder to walk, and what its files' paths begin with. */
export function folderOptions() {
  const { values } = parseArgs({ options: { folder: { type: "string" }, prefix: { type: "string", default: "" } } });
  const { folder, prefix } = values;
  if (folder === undefined) throw new Error("--folder is missing");
  return { folder, prefix: prefix === "" ? "" : `${prefix}/` };
}

/**
 * How many regular files there are, to measure progress by. Ends the process when the folder cannot be opened.
 * @param {string} folder
 */
export function countFiles(folder) {
  try {
    let count = 0;
    for (const _file of walk(folder, () => undefined)) count += 1;
    return count;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    console.error(`the folder cannot be opened (${code})`);
    process.exit(code === "EACCES" || code === "EPERM" ? EXIT_NO_PERMISSION : EXIT_NOT_FOUND);
  }
}
