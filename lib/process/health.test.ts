import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { mainThreadMs } from "@/lib/testing/measure/main-thread";
import { waitFor } from "@/lib/testing/processes";
import { threadProgram } from "@/lib/testing/thread-program";
import { type HealthServer, healthThread, startHealthServer } from "./health";

beforeAll(async () => {
  healthThread.url = await threadProgram(join(import.meta.dirname, "health-thread.entry.ts"));
});

let server: HealthServer | undefined;
afterEach(() => server?.close());

async function statusOf(path: string, init?: RequestInit): Promise<number> {
  return (await fetch(`http://127.0.0.1:${server?.port}${path}`, init)).status;
}

async function serve(ready: () => Promise<boolean> | boolean): Promise<void> {
  server = await startHealthServer({ port: 0, host: "127.0.0.1", ready });
}

test("OPS-15 a process without its database is live and not ready, and recovers", async () => {
  let up = false;
  await serve(() => up);
  expect([await statusOf("/livez"), await statusOf("/readyz")]).toEqual([200, 503]);
  up = true;
  await expect.poll(() => statusOf("/readyz"), { timeout: 10_000 }).toBe(200);
});

test("OPS-15 a check that fails or does not answer means not ready", async () => {
  await serve(() => Promise.reject(new Error("down")));
  expect(await statusOf("/readyz")).toBe(503);
  await server?.close();
  await serve(() => new Promise(() => {}));
  expect(await statusOf("/readyz")).toBe(503);
});

test("a ready process can have notices for operators, and reports its time-zone data", async () => {
  server = await startHealthServer({ port: 0, host: "127.0.0.1", ready: () => ({ notices: ["look here"] }) });
  const answer = await fetch(`http://127.0.0.1:${server.port}/readyz`);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ status: "ready", tz_version: process.versions.tz, notices: ["look here"] });
});

async function open(send: string): Promise<Socket> {
  const socket = connect(server?.port ?? 0, "127.0.0.1").on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(send);
  return socket;
}

const READYZ = "GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n";

test("requests share one check, and each connection is closed after its first request", async () => {
  const check = vi.fn(async () => true);
  await serve(check);
  const answers = await Promise.all(Array.from({ length: 20 }, async () => text(await open(READYZ))));
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*connection: close\r\n/i);
  const pipelined = await Promise.all(Array.from({ length: 5 }, () => open(READYZ.repeat(50_000))));
  await waitFor(() => pipelined.every((socket) => socket.resume().destroyed));
  expect(check.mock.calls.length).toBeLessThan(10);
});

test("connections that are held open keep no probe out, and end by themselves", async () => {
  await serve(() => true);
  const held: Socket[] = [];
  for (let n = 0; n < 200; n += 1) held.push(await open("GET /livez HTTP/1.1\r\nx: "));
  const closed = () => held.filter((socket) => socket.resume().destroyed || socket.readableEnded).length;
  await waitFor(() => closed() >= 200 - 64);
  expect(await statusOf("/livez")).toBe(200);
  await waitFor(() => closed() === 200, { withinMs: 25_000 });
}, 40_000);

/** Requests /readyz over twenty connections at a time for three seconds, and reports the number of answers. */
const FLOOD = `
const { parentPort, workerData } = require("node:worker_threads");
const { connect } = require("node:net");
const until = performance.now() + 3000;
let answers = 0;
const request = () => {
  if (performance.now() > until) return parentPort.postMessage(answers);
  const socket = connect(workerData.port, "127.0.0.1", () => socket.write(workerData.request));
  socket.on("error", () => undefined).once("data", () => (answers += 1)).once("close", request);
};
for (let n = 0; n < 20; n += 1) request();
`;

test.runIf(process.platform === "linux")("a flood of requests takes no time of the process's event loop", async () => {
  await serve(() => true);
  const flood = new Worker(FLOOD, { eval: true, workerData: { port: server?.port, request: READYZ } });
  onTestFinished(async () => void (await flood.terminate()));
  await once(flood, "online");
  const before = mainThreadMs();
  const [answers] = await once(flood, "message");
  expect(mainThreadMs() - before).toBeLessThan(100);
  expect(answers).toBeGreaterThan(100);
});

test("a process whose event loop is blocked is neither live nor ready, and recovers", async () => {
  await serve(() => true);
  const script = `for (const path of ["livez", "readyz"])
    await fetch("http://127.0.0.1:${server?.port}/" + path).then(({ status }) => console.log(status));`;
  // This call blocks the event loop until the other process has ended.
  const statuses = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 20_000,
  });
  expect(statuses).toBe("503\n503\n");
  await expect.poll(() => statusOf("/livez"), { timeout: 10_000 }).toBe(200);
  await expect.poll(() => statusOf("/readyz"), { timeout: 10_000 }).toBe(200);
});

test("a new check replaces the result of the one before at once", async () => {
  await serve(() => false);
  expect(await statusOf("/readyz")).toBe(503);
  server?.setReady(() => true);
  expect(await statusOf("/readyz")).toBe(200);
});

test("a port in use is an error, and a closed server frees its port", async () => {
  await serve(() => true);
  const port = server?.port ?? 0;
  await expect(startHealthServer({ port, host: "127.0.0.1" })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await server?.close();
  const next = createServer();
  await once(next.listen(port, "127.0.0.1"), "listening");
  next.close();
});

test("a request may arrive in parts, and one that is too long is refused", async () => {
  await serve(() => true);
  const parts = await open("GET /livez?a HT");
  setTimeout(() => parts.write("TP/1.1\r\nhost: a\r\n"), 50);
  setTimeout(() => parts.write("\r\n"), 100);
  expect(await text(parts)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n{"status":"live"}$/);
  expect(await text(await open(`GET /livez HTTP/1.1\r\nx: ${"a".repeat(4096)}`))).toMatch(/^HTTP\/1\.1 431 /);
});

test("no other path is served", async () => {
  await serve(() => true);
  const head = await fetch(`http://127.0.0.1:${server?.port}/readyz`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect(await statusOf("/")).toBe(404);
  expect(await statusOf("/livez", { method: "POST" })).toBe(405);
});
