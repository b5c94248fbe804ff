import { expect, test } from "vitest";
import { withFewDescriptors } from "@/lib/testing/few-descriptors";
import { plainLaunch } from "./launch.fixture";
import { QuarantineProcess } from "./quarantine-process";

const secrets = { values: {}, files: [] };

test.runIf(process.platform === "linux")(
  "a process that gets no descriptors is not ready, and harms no worker",
  async () => {
    for (const free of [0, 2, 4]) {
      const started = await withFewDescriptors(free, async () => {
        const child = new QuarantineProcess({ program: "/dev/null", memoryMb: 64, secrets, launch: plainLaunch });
        return { pid: child.pid, ready: await child.ready, end: await child.exited };
      });
      expect(started, `${free} free`).toEqual({ pid: 0, ready: false, end: { exitCode: null, signal: null } });
    }
  },
);
