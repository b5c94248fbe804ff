import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { openBelow, openFolder } from "./open-folder";

const home = realpathSync(mkdtempSync(join(tmpdir(), "leasehold files ")));
let root = "";
let made = 0;
beforeEach(() => {
  root = join(home, `root ${made++}`);
  mkdirSync(join(root, "a/b"), { recursive: true });
  writeFileSync(join(root, "a/b/file"), "own");
  mkdirSync(join(home, "outside/b"), { recursive: true });
  writeFileSync(join(home, "outside/b/file"), "foreign");
});
afterAll(() => rmSync(home, { recursive: true }));

async function read(relative: string): Promise<string> {
  const folder = await openFolder(root);
  try {
    const { last, close } = await openBelow(folder, relative);
    const text = await last.handle.readFile("utf8").finally(close);
    return `${last.path.slice(root.length)}: ${text}`;
  } finally {
    await folder.handle.close();
  }
}

test("a file is read, and its path is confirmed", async () => {
  expect(await read("a/b/file")).toBe("/a/b/file: own");
});

const LINKS: readonly (readonly [what: string, at: string, target: string])[] = [
  ["the first folder", "a", "../outside"],
  ["a folder on the way", "a/b", "../../outside/b"],
  ["the file", "a/b/file", "../../../outside/b/file"],
  ["a link inside the root", "a/b", "../c"],
];
test.each(LINKS)("a link in place of %s is not followed", async (...[, at, target]) => {
  mkdirSync(join(root, "c"));
  writeFileSync(join(root, "c/file"), "inside");
  rmSync(join(root, at), { recursive: true });
  symlinkSync(target, join(root, at));
  await expect(read("a/b/file")).rejects.toMatchObject({ refusal: "link" });
});

test("a folder whose path contains a link when it is opened is refused", async () => {
  renameSync(join(root, "a"), join(root, "away"));
  symlinkSync("../outside", join(root, "a"));
  await expect(openFolder(join(root, "a/b"))).rejects.toMatchObject({ refusal: "moved" });
  await expect(openFolder(join(root, "a"))).rejects.toThrow(/ENOTDIR/);
});

test("an open folder stays the same when a link replaces it", async () => {
  const folder = await openFolder(join(root, "a"));
  renameSync(join(root, "a"), join(root, "away"));
  symlinkSync("../outside", join(root, "a"));
  const { last, close } = await openBelow(folder, "b/file");
  expect(await last.handle.readFile("utf8")).toBe("own");
  await close();
  await folder.handle.close();
});

test("a missing path, a file in place of a folder and a pipe fail at once", async () => {
  await expect(read("a/none/file")).rejects.toMatchObject({ code: "ENOENT" });
  await expect(read("a/b/file/c")).rejects.toMatchObject({ code: "ENOTDIR" });
  execFileSync("mkfifo", [join(root, "pipe")]);
  expect(await read("pipe")).toBe("/pipe: ");
});

test("a path of more than 500 parts is refused", async () => {
  await expect(read(Array.from({ length: 501 }, () => "a").join("/"))).rejects.toMatchObject({ refusal: "too-deep" });
});
