/**
 * The program that removes working folders, for `node --eval`. Reads one folder per line from standard input, as JSON,
 * and answers each with a line: `null`, or why the folder still exists. Ends at the end of its input.
 *
 * Paths stay short, however deep a tree is, because each deeper folder is first moved up into the working folder.
 * Before that, the working folder is taken from its tenant, so a process of the tenant that still runs cannot replace a
 * folder by a link just before it is emptied. Links are removed, never followed.
 */
export const REMOVE_FOLDERS = String.raw`
const fs = require("node:fs");
const { randomUUID } = require("node:crypto");
const MOST_MS = 600000;
const isRoot = process.getuid() === 0;
try { require("node:os").setPriority(10); } catch {}

function remove(root) {
  const until = performance.now() + MOST_MS;
  const slash = Buffer.from("/");
  const join = (folder, name) => Buffer.concat([folder, slash, name]);
  let removed = 0;
  let problem = null;
  const attempt = (act) => {
    try { act(); removed += 1; } catch (error) { problem = error.code; }
  };
  const open = (folder) => {
    if (isRoot) return;
    try { fs.chmodSync(folder, 0o700); } catch {}
  };
  const each = (folder, act) => {
    const entries = fs.opendirSync(folder, { encoding: "buffer", bufferSize: 1024 });
    try {
      for (let entry = entries.readSync(); entry && performance.now() < until; entry = entries.readSync()) act(entry, join(folder, entry.name));
    } finally { entries.closeSync(); }
  };
  const top = Buffer.from(root);
  const moveUp = (path) => {
    try { return fs.rmdirSync(path); } catch {}
    open(path);
    fs.renameSync(path, join(top, Buffer.from(randomUUID())));
  };
  const empty = (folder) => {
    open(folder);
    each(folder, (entry, path) => attempt(() => (entry.isDirectory() ? moveUp(path) : fs.unlinkSync(path))));
    fs.rmdirSync(folder);
  };
  if (isRoot) try { fs.lchownSync(top, 0, 0); } catch {}
  fs.chmodSync(top, 0o700);
  do {
    removed = 0;
    each(top, (entry, path) => attempt(() => (entry.isDirectory() ? empty(path) : fs.unlinkSync(path))));
  } while (removed > 0 && performance.now() < until);
  try { fs.rmdirSync(top); } catch (error) { throw problem && error.code === "ENOTEMPTY" ? { code: problem } : error; }
}

function answer(root) {
  try { remove(root); } catch (error) { if (fs.existsSync(root)) return error.code || String(error); }
  return null;
}

let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) fs.writeSync(1, JSON.stringify(answer(JSON.parse(line))) + "\n");
});
`;
