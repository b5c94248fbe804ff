// Lists the regular files of a folder with size, SHA-256, media type and time, one row each. Links are not followed.
import { countFiles, folderOptions } from "./lib/folder-command.mjs";
import { sayProgress, sayResult, sayRow } from "./lib/frames.mjs";
import { hashFile } from "./lib/hash-file.mjs";
import { mediaTypeOf } from "./lib/media-type.mjs";
import { runScript } from "./lib/run-script.mjs";
import { walk } from "./lib/walk.mjs";

runScript(() => {
  const { folder, prefix } = folderOptions();
  const total = countFiles(folder);
  const found = { files: 0, bytes: 0, skipped: 0 };

  /** @param {import("./lib/walk.mjs").Skipped} skipped */
  function skip({ reason, path, isFolder }) {
    found.skipped += 1;
    // Rows of entries that exist but cannot be read are kept.
    const isKept = path !== null && (reason === "unreadable" || reason === "too-deep");
    if (isKept) sayRow({ kept: path === "" ? prefix.slice(0, -1) : prefix + path, folder: isFolder });
  }

  for (const { path, open } of walk(folder, skip)) {
    const fd = open();
    if (fd === null) continue;
    const file = hashFile(fd);
    if (file === null) {
      skip({ reason: "unreadable", path, isFolder: false });
      continue;
    }
    found.files += 1;
    found.bytes += file.size;
    const { size, sha256, modifiedMs } = file;
    sayRow({ path: prefix + path, size, sha256, media_type: mediaTypeOf(path, file.head), modified_ms: modifiedMs });
    sayProgress(found.files, total, `${found.files} of ${total} files`);
  }
  sayResult(found);
});
