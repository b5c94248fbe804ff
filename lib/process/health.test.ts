import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { type HealthServer, startHealthServer } from "./health";

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

test("no other path is served", async () => {
  await serve(() => true);
  expect(await statusOf("/")).toBe(404);
  expect(await statusOf("/livez", { method: "POST" })).toBe(405);
});
