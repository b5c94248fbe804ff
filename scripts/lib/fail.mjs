import { ROOT } from "./paths.mjs";

/** A problem that the reader can fix: shown as its message only, without a stack. */
export class Unusable extends Error {}

/**
 * Runs a script's main function; a problem ends it with code 1.
 * @param {() => Promise<unknown>} main
 */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${error instanceof Unusable ? error.message : (error?.stack ?? error)}\n`);
    process.exit(1);
  }
}

// Turbopack reads the part of a path after `#` as a fragment, and then cannot find the style sheets.
if (ROOT.includes("#")) {
  process.stderr.write(`The pages cannot be built in a folder with "#" in its path: ${ROOT}. Rename the folder.\n`);
  process.exit(1);
}

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 9)) {
  process.stderr.write(`Node 20.9 or newer is needed; this is ${process.version}.\n`);
  process.exit(1);
}
