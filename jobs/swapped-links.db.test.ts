import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { executeCommand, openInside } from "@/lib/execution";
import { makeTestFolder, registryOf, testContext } from "@/lib/execution/test-support";
import { swapWithLink } from "@/lib/testing/swapper";
import { openHandlerBench } from "./handler-bench.fixture";

/** Jobs of each kind; the long form runs 1,000. */
const JOBS = Number(process.env.SWAPPED_JOBS ?? 60);
const LIMIT_MS = 60_000 + JOBS * 2000;
const SECRET = "FOREIGN-CONTENTS";

const bench = await openHandlerBench();
/** Swaps a folder of this tenant with a link to another tenant's folder, whose files `find-similar` would quote. */
function swap(): void {
  const foreign = mkdtempSync(join(tmpdir(), "leasehold foreign "));
  onTestFinished(() => rmSync(foreign, { recursive: true }));
  chmodSync(foreign, 0o755);
  mkdirSync(join(bench.data, "race/deep"), { recursive: true });
  mkdirSync(join(foreign, "deep"));
  for (const folder of [join(foreign, "deep"), foreign]) {
    writeFileSync(join(folder, "file.csv"), `a\n${SECRET}1\n${SECRET}2\n`);
    writeFileSync(join(folder, SECRET), SECRET);
  }
  for (const folder of ["race/deep", "race"]) writeFileSync(join(bench.data, folder, "file.csv"), "a\nown-1\nown-2\n");
  swapWithLink(join(bench.data, "race"), foreign);
}

interface Seen {
  /** Jobs that read the tenant's own file. */
  own: number;
  refused: number;
}

/** Runs the jobs one after another and checks each answer. */
async function race(run: () => Promise<unknown>): Promise<Seen> {
  swap();
  const seen = { own: 0, refused: 0 };
  for (let job = 0; job < JOBS; job += 1) {
    const answer = await run();
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    if ((answer as { kind?: unknown }).kind === "failed") seen.refused += 1;
    else seen.own += 1;
  }
  // The link existed for some jobs, and not for others.
  expect(seen.own).toBeGreaterThan(0);
  expect(seen.refused).toBeGreaterThan(0);
  return seen;
}

test("sync-folder takes nothing from beyond a link that is swapped with a folder on its way", {
  timeout: LIMIT_MS,
}, async () => {
  await race(() => bench.run("sync-folder", { path_prefix: "race/deep" }));
  const rows = await bench.database.query<{ path: string }>("select distinct path from app.assets");
  expect(rows).toEqual([{ path: "race/deep/file.csv" }]);
});

test("find-similar reads nothing from beyond a link that is swapped with a folder on its way", {
  timeout: LIMIT_MS,
}, async () => {
  await race(() => bench.run("find-similar", { path: "race/file.csv", column: "a" }));
});

test.each(["file.csv", "deep"])(
  "a command that is given race/%s reads nothing from beyond the link that race becomes",
  {
    timeout: LIMIT_MS,
  },
  async (name) => {
    const folder = await makeTestFolder();
    onTestFinished(() => folder.remove());
    const placeholders = { at: { type: "provider_path", path_from: "path" } };
    const read = { binary: "/bin/grep", argv: ["-r", "", "{at}"], placeholders };
    const registry = await registryOf(folder, { read });
    const openProviderPath = (_id: string, relative: string) =>
      openInside({ root: bench.data, relative, allowedRoots: [tmpdir()] });
    await race(async () => {
      const { outcome, output } = await executeCommand(
        registry,
        "read",
        { provider_id: bench.providerId, path: `race/${name}` },
        testContext({ openProviderPath }).ctx,
      );
      if (outcome.kind === "succeeded") expect(output.stdoutTail).toContain("own");
      return { ...outcome, output };
    });
  },
);
