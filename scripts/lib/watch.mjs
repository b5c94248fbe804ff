import { watch } from "node:fs";
import { say } from "./progress.mjs";

const QUIET_MS = 300;

/**
 * Calls `onChange` when sources change, once per burst and never concurrently.
 * @param {string[]} folders
 * @param {() => Promise<void>} onChange
 */
export function watchSources(folders, onChange) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let work = Promise.resolve();
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      work = work.then(onChange).catch((error) => say(`  ${error.message}`));
    }, QUIET_MS);
  };
  for (const folder of folders) {
    watch(folder, { recursive: true }, (_event, name) => {
      if (name && !/\.test\.tsx?$/.test(String(name))) changed();
    });
  }
}
