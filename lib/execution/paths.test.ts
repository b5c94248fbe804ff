import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openInside, readableFile } from "./paths";
import { commandUser } from "./process/run-as";
import { makeTestFolder, type TestFolder } from "./test-support";

let folder: TestFolder;
let root = "";
beforeAll(async () => {
  folder = await makeTestFolder();
  root = join(folder.root, "data");
  for (const name of ["open", "closed"]) {
    mkdirSync(join(root, name), { recursive: true });
    for (const file of ["all", "root"]) writeFileSync(join(root, name, file), file);
    chmodSync(join(root, name, "all"), 0o644);
    chmodSync(join(root, name, "root"), 0o600);
  }
  chmodSync(join(root, "closed"), 0o700);
});
afterAll(() => folder.remove());

const user = commandUser();
const read = async (relative: string) => {
  const opened = await openInside({ root, relative, allowedRoots: [folder.root] });
  const file = await readableFile(opened, user);
  return file.readFile("utf8").finally(() => file.close());
};

test.runIf(user)("under root a handler reads only what the commands' user can read", async () => {
  expect(await read("open/all")).toBe("all");
  for (const refused of ["open/root", "closed/all", "closed/root"])
    await expect(read(refused)).rejects.toMatchObject({ errorType: "permission", message: "the file cannot be read" });
  chownSync(join(root, "closed"), user?.uid ?? 0, 0);
  expect(await read("closed/all")).toBe("all");
});

test("a folder cannot be read as a file", async () => {
  await expect(read("open")).rejects.toMatchObject({ errorType: "invalid_input", message: "the path is not a file" });
});

test.runIf(process.platform === "linux")(
  "opening and reading leaves no descriptor open, also after an error",
  async () => {
    const before = readdirSync("/proc/self/fd").length;
    for (const relative of ["open/all", "open/root", "open", "none", "../out", "open/all/x"])
      await read(relative).catch(() => undefined);
    expect(readdirSync("/proc/self/fd").length).toBe(before);
  },
);
