import { spawn, spawnSync } from "node:child_process";
import { getPriority } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeTestFolder, runShell, type TestFolder, until } from "../test-support";
import { processTree } from "./process-tree";
import { UsageMeter } from "./usage";

// Five processes that compute, each in its own session, and a thread.
const COMPUTE = `for (let n = 0; n < 5; n += 1)
  require("node:child_process").spawn("/bin/sh", ["-c", "while :; do :; done"], { detached: true });
new (require("node:worker_threads").Worker)("for (;;);", { eval: true });`;

test.runIf(process.platform === "linux")(
  "many processes and threads that compute have a low priority soon",
  async () => {
    const own = getPriority();
    const child = spawn(process.execPath, ["-e", COMPUTE], { detached: true, stdio: "ignore" });
    const meter = new UsageMeter(child.pid ?? 0);
    expect(getPriority(child.pid)).toBe(own);
    const tree = async () => processTree(child.pid ?? 0);
    const isLow = (thread: number) => getPriority(thread) >= Math.min(19, own + 7);
    try {
      await until(
        "all have it",
        async () => {
          const threads = (await tree()).flatMap((process) => process.threads);
          return threads.length > 5 && threads.every(isLow);
        },
        30_000,
      );
    } finally {
      meter.stop();
      for (const { pid } of await tree()) process.kill(pid, "SIGKILL");
    }
  },
);

const canYield = spawnSync("/usr/bin/ionice", ["-c", "3", "true"]).status === 0;

describe.runIf(process.platform === "linux" && canYield)("the disk", () => {
  let folder: TestFolder;
  beforeAll(async () => {
    folder = await makeTestFolder();
  });
  afterAll(() => folder.remove());

  test.each(["best", "user", "group"] as const)(
    "is a command's when nothing else needs it, as for the processes it starts (isolation %s)",
    async (isolation) => {
      const { outcome, output } = await runShell(folder, "ionice -p $$; sh -c 'ionice -p $$'", { isolation });
      expect(outcome.kind).toBe("succeeded");
      expect(output.stdoutTail).toBe("idle\nidle\n");
    },
  );
});
