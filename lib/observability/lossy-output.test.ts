import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { lossyOutput } from "./lossy-output";

const fault = (code: string) => Object.assign(new Error(code), { code });

/** Returns an output that fails on request, line by line. */
function output(behaviour: { fault?: string }) {
  let text = "";
  const out = lossyOutput(1, {
    droppedLine: (count) => `dropped ${count}\n`,
    write: (bytes) => {
      if (behaviour.fault) throw fault(behaviour.fault);
      text += bytes.toString();
      return bytes.length;
    },
  });
  return { out, text: () => text };
}

describe("log lines", () => {
  test.each(["ENOSPC", "EPIPE", "EIO", "EBADF"])("are dropped and counted while the output fails with %s", (code) => {
    const behaviour: { fault?: string } = { fault: code };
    const { out, text } = output(behaviour);
    for (let n = 0; n < 1000; n += 1) out.write(`line ${n}\n`);
    delete behaviour.fault;
    out.write("next\n");
    expect(text()).toBe("dropped 1000\nnext\n");
  });

  test("wait in order for a slow reader, and are dropped only beyond 1 MiB", async () => {
    const behaviour: { fault?: string } = { fault: "EAGAIN" };
    const { out, text } = output(behaviour);
    const line = `${"x".repeat(1023)}\n`;
    for (let n = 0; n < 2000; n += 1) out.write(line);
    delete behaviour.fault;
    await waitFor(() => text().includes("dropped"));
    const taken = text().split("x".repeat(1023)).length - 1;
    expect(taken).toBeGreaterThanOrEqual(1024);
    expect(text()).toContain(`dropped ${2000 - taken}`);
  });

  test("are never mixed: after a partial write the next line starts on its own", () => {
    let text = "";
    let cut = true;
    const out = lossyOutput(1, {
      droppedLine: (count) => `dropped ${count}\n`,
      write: (bytes) => {
        if (text.length >= 3 && cut) throw fault("ENOSPC");
        const piece = cut ? bytes.subarray(0, 3) : bytes;
        text += piece.toString();
        return piece.length;
      },
    });
    out.write("first line\n");
    cut = false;
    out.write("second\n");
    expect(text).toBe("fir\ndropped 1\nsecond\n");
  });
});

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Starts a process that logs endlessly and sends heartbeats over its channel. */
function chatter(stdout: "pipe" | number): { child: ChildProcess; beats: () => number } {
  const child = spawn(process.execPath, ["--import", "tsx", "lib/observability/chatter.fixture.ts"], {
    stdio: ["ignore", stdout, "inherit", "ipc"],
  });
  children.push(child);
  let beats = 0;
  child.on("message", () => {
    beats += 1;
  });
  return { child, beats: () => beats };
}

async function goesOn({ child, beats }: ReturnType<typeof chatter>): Promise<void> {
  await waitFor(() => beats() >= 20, { withinMs: 30_000, what: "twenty heartbeats" });
  expect(child.exitCode).toBeNull();
  child.kill("SIGTERM");
  await waitFor(() => child.exitCode !== null, { withinMs: 10_000, what: "the end after SIGTERM" });
  expect(child.exitCode).toBe(0);
}

describe("a logging process keeps running and handles SIGTERM", () => {
  test("while its standard output is not read", () => goesOn(chatter("pipe")));

  test("after the reader of its standard output ended", async () => {
    const one = chatter("pipe");
    one.child.stdout?.destroy();
    await goesOn(one);
  });

  test.runIf(existsSync("/dev/full"))("on a full disk", async () => {
    const fd = openSync("/dev/full", "w");
    await goesOn(chatter(fd));
    closeSync(fd);
  });
});
