import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";

const SWAP = `
  const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
  const [folder, target] = process.argv.slice(1);
  for (;;) {
    renameSync(folder, folder + ".away");
    symlinkSync(target, folder);
    unlinkSync(folder);
    renameSync(folder + ".away", folder);
  }`;

/** Swaps a folder with a link to `target` and back, thousands of times a second, until the test ends. */
export function swapWithLink(folder: string, target: string): void {
  const swapper = spawn(process.execPath, ["-e", SWAP, folder, target], { stdio: "ignore" });
  onTestFinished(async () => {
    swapper.kill("SIGKILL");
    if (swapper.exitCode === null && swapper.signalCode === null) await once(swapper, "exit");
  });
}
