import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function startFixture(...args: string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", "lib/process/shutdown.fixture.ts", ...args], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  children.push(child);
  const { stdout } = child;
  if (!stdout) throw new Error("no pipe");
  let output = "";
  stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  // Not "close", because that event is not emitted after disconnect().
  const ended = Promise.all([once(child, "exit"), once(stdout, "end")]);
  const exited = ended.then(([[code]]) => ({ code: code as number | null, ms: performance.now() - signalled, output }));
  let signalled = performance.now();
  await new Promise((resolve) => child.once("message", resolve));
  const signal = (name: NodeJS.Signals) => {
    signalled = performance.now();
    child.kill(name);
  };
  const draining = async () => {
    while (!output.includes("draining now")) await sleep(5);
  };
  return { child, exited, signal, draining };
}

describe("OPS-03 signals", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s drains in reverse order of registration and exits 0",
    async (name) => {
      const { exited, signal } = await startFixture("50");
      signal(name);
      const { code, output } = await exited;
      expect(code).toBe(0);
      expect(output).toMatch(/draining now[\s\S]*first registered, last drained/);
      expect(output).not.toContain("forced");
    },
  );

  test.each(["before", "after"])("PostgreSQL stopped %s SIGTERM ends a long drain within seconds", async (when) => {
    const { child, exited, signal, draining } = await startFixture("60000", "30000");
    if (when === "after") signal("SIGTERM");
    if (when === "after") await draining();
    const gone = performance.now();
    child.send({ type: "database-gone" });
    if (when === "before") await draining();
    expect((await exited).code).toBe(1);
    expect(performance.now() - gone).toBeLessThan(20_000);
  });

  test("the same signal twice within 100 ms counts once", async () => {
    const { exited, signal } = await startFixture("400");
    signal("SIGINT");
    signal("SIGTERM");
    expect((await exited).code).toBe(0);
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("a second %s after 200 ms exits at once with %i", async (name, code) => {
    const { exited, signal, draining } = await startFixture("60000", "60000");
    signal(name);
    await draining();
    await sleep(200);
    signal(name);
    const end = await exited;
    expect(end.code).toBe(code);
    expect(end.output).toContain("forced");
    expect(end.ms).toBeLessThan(5000);
  });

  test("an uncaught error exits with 1 without draining", async () => {
    const { exited } = await startFixture("0", "1000", "throw");
    expect(await exited).toMatchObject({ code: 1, output: expect.stringContaining("not caught on purpose") });
  });

  test("a drain started by the process itself exits with the given code", async () => {
    const { exited } = await startFixture("0", "1000", "begin");
    expect((await exited).code).toBe(3);
  });

  test("a process whose supervisor ended drains", async () => {
    const { child, exited } = await startFixture("10");
    child.disconnect();
    expect(await exited).toMatchObject({ code: 1, output: expect.stringContaining("draining now") });
  });
});
