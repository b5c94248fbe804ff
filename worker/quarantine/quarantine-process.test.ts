import { expect, test } from "vitest";
import { withFewDescriptors } from "@/lib/testing/few-descriptors";
import { QuarantineProcess } from "./quarantine-process";

test.runIf(process.platform === "linux")(
  "a process that gets no descriptors is not ready, and harms no worker",
  async () => {
    for (const free of [0, 2, 4]) {
      const started = await withFewDescriptors(free, async () => {
        const child = new QuarantineProcess("/dev/null", 64, { values: {}, files: [] });
        return { pid: child.pid, ready: await child.ready, end: await child.exited };
      });
      expect(started, `${free} free`).toEqual({ pid: 0, ready: false, end: { exitCode: null, signal: null } });
    }
  },
);
