import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { plainEnvironment } from "@/lib/testing/processes";

const run = promisify(execFile);

async function bench(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, ["scripts/bench.mjs", ...args, "--only", "leasehold"], {
    env: plainEnvironment(),
    maxBuffer: 1e7,
  });
  return stdout;
}

test("the engine's benchmarks finish and print their figures", async () => {
  const scenarios = ["throughput", "enqueue", "latency", "noisy-tenant", "depth"];
  const output = await bench(...scenarios, "--jobs", "100", "--rounds", "1");
  for (const scenario of scenarios) expect(output).toContain(`### ${scenario}`);
  const rows = output.split("\n").filter((line) => line.startsWith("| leasehold |"));
  // The table of depth has no systems, and enqueue has two tables.
  expect(rows).toHaveLength(scenarios.length);
  for (const row of rows) expect(row).toMatch(/^\| leasehold \| [1-9][\d,.]*/);
  expect(output).toMatch(/^\| 1000 \| 1,000 \| \d/m);
}, 240_000);

test("an unknown benchmark is refused with the list of benchmarks", async () => {
  await expect(bench("speed")).rejects.toMatchObject({ stderr: expect.stringContaining("throughput") });
});
