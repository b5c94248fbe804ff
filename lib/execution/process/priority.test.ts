import { spawn } from "node:child_process";
import { getPriority } from "node:os";
import { expect, test } from "vitest";
import { until } from "../test-support";
import { processTree } from "./process-tree";
import { UsageMeter } from "./usage";

// Two processes that compute, one in its own session, and a thread.
const COMPUTE = `require("node:child_process").spawn("/bin/sh", ["-c", "while :; do :; done"], { detached: true });
new (require("node:worker_threads").Worker)("for (;;);", { eval: true });`;

test.runIf(process.platform === "linux")(
  "processes and threads that compute have the lowest priority soon",
  async () => {
    const own = getPriority();
    const child = spawn(process.execPath, ["-e", COMPUTE], { detached: true, stdio: "ignore" });
    const meter = new UsageMeter(child.pid ?? 0);
    expect(getPriority(child.pid)).toBe(own);
    const tree = async () => processTree(child.pid ?? 0);
    const isLowest = (thread: number) => getPriority(thread) === 19;
    try {
      await until(
        "all have it",
        async () => {
          const threads = (await tree()).flatMap((process) => process.threads);
          return threads.length > 5 && threads.every(isLowest);
        },
        30_000,
      );
    } finally {
      meter.stop();
      for (const { pid } of await tree()) process.kill(pid, "SIGKILL");
    }
  },
);
