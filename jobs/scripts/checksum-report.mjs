// Stores checksums.txt as an artifact and prints it; `sha256sum -c` accepts it in the provider's folder.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { countFiles, folderOptions } from "./lib/folder-command.mjs";
import { sayProgress, sayResult, writeAll } from "./lib/frames.mjs";
import { hashFile } from "./lib/hash-file.mjs";
import { runScript } from "./lib/run-script.mjs";
import { walk } from "./lib/walk.mjs";

const STDOUT = 1;
const ARTIFACT = "checksums.txt";

runScript(() => {
  const { folder, prefix } = folderOptions();
  const total = countFiles(folder);
  mkdirSync("artifacts");
  const report = openSync(`artifacts/${ARTIFACT}`, "wx", 0o600);
  const reportHash = createHash("sha256");
  let files = 0;
  let bytes = 0;
  let skipped = 0;

  const skip = () => {
    skipped += 1;
  };
  for (const { path, open } of walk(folder, skip)) {
    const fd = open();
    const file = fd === null ? null : hashFile(fd);
    if (fd === null) continue;
    if (file === null) {
      skip();
      continue;
    }
    files += 1;
    bytes += file.size;
    const line = Buffer.from(checksumLine(file.sha256, prefix + path));
    writeAll(report, line);
    writeAll(STDOUT, line);
    reportHash.update(line);
    sayProgress(files, total, `${files} of ${total} files`);
  }
  closeSync(report);
  if (skipped > 0)
    console.error(
      `${skipped} entries were skipped: links, special files, unreadable ones, or names that are not UTF-8`,
    );
  sayResult({ artifact: ARTIFACT, files, bytes, skipped, sha256: reportHash.digest("hex") });
});

/**
 * Returns a line in the format of GNU coreutils 9.0 and later: a leading backslash marks an escaped name.
 * @param {string} sha256
 * @param {string} path
 */
function checksumLine(sha256, path) {
  if (!/[\\\n\r]/.test(path)) return `${sha256}  ${path}\n`;
  return `\\${sha256}  ${path.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}\n`;
}
