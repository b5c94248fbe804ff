import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { capture } from "./child.mjs";
import { Unusable } from "./fail.mjs";
import { readText, writeWhole } from "./files.mjs";
import { inRoot } from "./paths.mjs";
import { runStep } from "./progress.mjs";

const STAMP = "node_modules/.install-stamp";

/** Installs the locked packages, unless exactly these are installed. */
export async function ensureInstalled() {
  const lock = readFileSync(inRoot("package-lock.json"));
  const wanted = createHash("sha256")
    .update(lock)
    .update(`${process.platform}-${process.arch}-${process.versions.modules}`)
    .digest("hex");
  if (readText(inRoot(STAMP)) === wanted) return;
  await runStep("installing packages (about a minute)", async () => {
    const env = { ...process.env };
    delete env.NODE_ENV; // "production" would skip packages that the build needs
    const args = [npmProgram(), "ci", "--include=dev", "--no-audit", "--no-fund"];
    const { code, output } = await capture(args, { env });
    if (code !== 0) throw new Unusable(`npm ci failed (exit ${code}):\n${output.slice(-4000)}`);
  });
  writeWhole(inRoot(STAMP), wanted);
}

/** Returns npm's own program, a Node script. */
export function npmProgram() {
  const beside = path.join(path.dirname(process.execPath), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js");
  const found = [process.env.npm_execpath, beside].find(
    (file) => file && /npm-cli\.js$/.test(file) && existsSync(file),
  );
  if (!found) throw new Unusable("npm was not found. Start with `npm start` or `npm test`.");
  return found;
}
