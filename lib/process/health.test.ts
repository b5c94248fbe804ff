import { afterEach, expect, test } from "vitest";
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
  expect(await statusOf("/readyz")).toBe(200);
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

test("no other path is served", async () => {
  await serve(() => true);
  expect(await statusOf("/")).toBe(404);
  expect(await statusOf("/livez", { method: "POST" })).toBe(405);
});
