import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

test.each(["start", "test", "build", "run"])(
  "%s in a folder whose path contains # reports at once that it must be renamed",
  (script) => {
    const base = mkdtempSync(path.join(tmpdir(), "leasehold a#b "));
    try {
      cpSync("scripts", path.join(base, "scripts"), { recursive: true });
      cpSync("lib/env", path.join(base, "lib/env"), { recursive: true });
      cpSync("package.json", path.join(base, "package.json"));
      for (const folder of ["lib/db/embedded", "lib/db/migrate"])
        cpSync(folder, path.join(base, folder), { recursive: true });
      const { status, stderr } = spawnSync(process.execPath, [path.join(base, `scripts/${script}.mjs`)], {
        encoding: "utf8",
      });
      expect(status).toBe(1);
      expect(stderr.trim().split("\n")).toEqual([expect.stringMatching(/"#".*Rename the folder\.$/)]);
    } finally {
      rmSync(base, { recursive: true, force: true });
    }
  },
);
