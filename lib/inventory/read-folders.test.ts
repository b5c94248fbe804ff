import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { swapWithLink } from "@/lib/testing/swapper";
import { readFolders } from "./read-folders";

const LOOKS = 300;

test("reading never follows a link that replaces a folder", async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "leasehold looks ")));
  onTestFinished(() => rmSync(home, { recursive: true }));
  for (const folder of ["own/race/sub", "own/still", "foreign/secret"])
    mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, "own/race/sub/file"), "");
  swapWithLink(join(home, "own/race"), join(home, "foreign"));
  let whole = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    const folders = [
      ...(await readFolders(join(home, "own"), { mostEntries: 100, signal: AbortSignal.timeout(60_000) })).keys(),
    ];
    expect(folders.filter((folder) => /secret/.test(folder))).toEqual([]);
    expect(folders).toContain("still");
    if (folders.some((folder) => folder.endsWith("/sub"))) whole += 1;
  }
  // The link existed for some reads, and not for others.
  expect(whole).toBeGreaterThan(0);
  expect(whole).toBeLessThan(LOOKS);
});
