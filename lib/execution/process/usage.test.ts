import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { processTree } from "./process-tree";
import { UsageMeter } from "./usage";

/** Uses 400 ms of processor time, however long that takes, and then stays for longer than the pause between two looks. */
const BUSY = `const kept = Buffer.alloc(80 * 1024 * 1024, 1);
while (process.cpuUsage().user < 400_000); setTimeout(() => kept.at(0), 5_000);`;

test.runIf(process.platform === "linux")(
  "A-03 processor time and memory of a command and its children are measured while it runs",
  async () => {
    // Like a command in its own session, whose priority the meter lowers.
    const child = spawn("/bin/sh", ["-c", '"$0" -e "$1" & wait', process.execPath, BUSY], { detached: true });
    const meter = new UsageMeter(child.pid ?? 0);
    await once(child, "exit");
    const usage = meter.stop();
    expect(usage?.cpuMs).toBeGreaterThan(200);
    expect(usage?.cpuMs).toBeLessThan(20_000);
    expect(usage?.peakRssBytes).toBeGreaterThan(80 * 1024 * 1024);
  },
);

test("a process that ended has no figures and causes no error", async () => {
  const child = spawn("/bin/true");
  await once(child, "exit");
  const meter = new UsageMeter(child.pid ?? 0);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(meter.stop()).toBeUndefined();
});

const FORKS_IN_A_THREAD = `new (require("node:worker_threads").Worker)(
  "const child = require('node:child_process').spawn('/bin/sleep', ['60']); console.log(child.pid);", { eval: true })`;

test.runIf(process.platform === "linux")("a child forked by a thread other than the first is found", async () => {
  const child = spawn(process.execPath, ["-e", FORKS_IN_A_THREAD]);
  const [pid] = await once(child.stdout, "data");
  const tree = await processTree(child.pid ?? 0);
  child.kill("SIGKILL");
  process.kill(Number(pid), "SIGKILL");
  expect(tree.map((usage) => usage.pid)).toContain(Number(pid));
});
