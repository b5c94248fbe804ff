import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { executeCommand } from "../execute-command";
import { makeTestFolder, processesOf, registryOf, shellCommand, type TestFolder, testContext } from "../test-support";

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

// `tail` keeps a possible last line, so each child holds ten megabytes.
const TWENTY_CHILDREN = `
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  { head -c 10000000 /dev/zero; sleep 60; } | tail -n 1 &
done
wait`;
// A variable of 60 MB, which forked shells share until they change it.
const SHARED = `
big=$(head -c 60000000 /dev/zero | tr '\\000' a)
for n in 1 2 3 4 5 6 7 8; do (sleep 1.5; :) & done
wait
echo \${#big}`;

async function run(lines: string, limits: object, isolation: "best" | "user" | "group" = "best") {
  const registry = await registryOf(
    folder,
    { task: { ...(await shellCommand(folder, "task", lines)), limits } },
    isolation,
  );
  const { ctx } = testContext({ jobId: randomUUID(), timeoutSeconds: 60 });
  const { outcome, output } = await executeCommand(registry, "task", {}, ctx);
  return { outcome, output, left: processesOf(ctx.jobId) };
}

describe.runIf(process.platform === "linux")("the memory limit for all processes of a command", () => {
  test.each([
    ["best", { memory_mb: 100 }],
    ["user", { total_memory_mb: 100 }],
    ["group", { memory_mb: 1000, total_memory_mb: 100 }],
  ] as const)(
    "ends a command whose 20 children exceed it together but not one by one (%s)",
    async (isolation, limits) => {
      const { outcome, left } = await run(TWENTY_CHILDREN, limits, isolation);
      expect(outcome).toEqual({
        kind: "failed",
        errorType: "temporary_resource",
        message: expect.stringMatching(/^killed: its processes together held \d+ MiB .* 100 MiB .*total_memory_mb/),
      });
      expect(left).toEqual([]);
    },
  );

  test("counts a shared page once", async () => {
    const { outcome, output } = await run(SHARED, { total_memory_mb: 300 });
    expect([outcome.kind, output.stdoutTail]).toEqual(["succeeded", "60000000\n"]);
    expect(output.peakRssBytes).toBeGreaterThan(400e6);
  });

  test("is half of the machine's memory by default", async () => {
    const registry = await registryOf(folder, { task: await shellCommand(folder, "task", "true") });
    const limit = registry.commands.get("task")?.spec.limits.total_memory_mb ?? 0;
    expect(limit).toBeGreaterThan(64);
    expect(limit * 1024 * 1024).toBeLessThanOrEqual(process.constrainedMemory() / 2);
  });
});
