import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkProviderPath } from "./provider-path";

let home: string;
let root: string;

beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "leasehold provider ")));
  root = join(home, "root");
  await mkdir(join(root, "inside"), { recursive: true });
  await mkdir(join(home, "root-too"));
  await writeFile(join(root, "file"), "");
  await symlink(home, join(root, "way-out"));
  await symlink(join(root, "inside"), join(home, "way-in"));
});
afterAll(() => rm(home, { recursive: true }));

test("a folder inside a root is accepted under its real path", async () => {
  expect(await checkProviderPath(join(home, "way-in"), [root])).toEqual({ ok: true, path: join(root, "inside") });
  expect(await checkProviderPath(root, ["/nowhere", root])).toEqual({ ok: true, path: root });
});

test.each([
  "root/file",
  "root/absent",
  "root/way-out",
  "root-too",
  "root/..",
  "root/way-out/root-too",
  "root/in\u0000side",
])("%s is refused", async (path) => {
  expect((await checkProviderPath(`${home}/${path}`, [root])).ok).toBe(false);
});

test("without roots every folder is refused", async () => {
  expect((await checkProviderPath(root, [])).ok).toBe(false);
});
