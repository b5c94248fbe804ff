import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { type ListenOptions, listen } from "./listen";

const database = await testDatabase();

function startListening(options: Partial<ListenOptions> = {}) {
  const heard: string[] = [];
  const seen = { ready: 0, errors: 0, heard };
  const listener = listen({
    url: database.urlFor("worker"),
    channels: ["leasehold_work", "leasehold_cancel"],
    applicationName: "listen-test",
    onNotify: (channel, payload) => heard.push(`${channel}:${payload}`),
    onReady: () => {
      seen.ready += 1;
    },
    onError: () => {
      seen.errors += 1;
    },
    ...options,
  });
  onTestFinished(() => listener.close());
  return { listener, seen };
}

const killListeners = () =>
  database.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listen-test'");
const listeners = async () =>
  (await database.query("select 1 from pg_stat_activity where application_name = 'listen-test'")).length;

test("notifications arrive from the named channels only", async () => {
  const { seen } = startListening();
  await expect.poll(() => seen.ready).toBe(1);
  await database.query(
    "select pg_notify('leasehold_work', '1,2'), pg_notify('elsewhere', 'x'), pg_notify('leasehold_cancel', '*')",
  );
  await expect.poll(() => seen.heard).toEqual(["leasehold_work:1,2", "leasehold_cancel:*"]);
});

test("LEASE-25 a listener whose backend is killed twenty times listens again each time and requests a catch-up", async () => {
  const { seen } = startListening();
  for (let round = 1; round <= 20; round++) {
    await expect.poll(() => seen.ready, { timeout: 5000 }).toBe(round);
    await killListeners();
  }
  await expect.poll(() => seen.ready, { timeout: 5000 }).toBe(21);
  await database.query("select pg_notify('leasehold_work', 'after')");
  await expect.poll(() => seen.heard).toEqual(["leasehold_work:after"]);
  expect(seen.errors).toBe(20);
}, 30_000);

test("connecting is retried until close while the database is down", async () => {
  const url = new URL(database.urlFor("worker"));
  url.port = "1";
  const { listener, seen } = startListening({ url: url.href });
  await expect.poll(() => seen.errors, { timeout: 5000 }).toBeGreaterThanOrEqual(2);
  await listener.close();
  const errors = seen.errors;
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(seen.errors).toBe(errors);
});

test("close ends the server session, also while connecting", async () => {
  const { listener, seen } = startListening();
  await expect.poll(() => seen.ready).toBe(1);
  await listener.close();
  await startListening().listener.close();
  await expect.poll(listeners).toBe(0);
});

test("a handler that throws ends neither the connection nor the process", async () => {
  const heard: string[] = [];
  const { seen } = startListening({
    onNotify: (_channel, payload) => {
      heard.push(payload);
      throw new Error("of the handler");
    },
  });
  await expect.poll(() => seen.ready).toBe(1);
  await database.query("select pg_notify('leasehold_work', '1')");
  await database.query("select pg_notify('leasehold_work', '2')");
  await expect.poll(() => heard).toEqual(["1", "2"]);
  expect(seen).toMatchObject({ ready: 1, errors: 2 });
});

test("a channel name that is not a plain word is refused before any SQL", () => {
  expect(() => startListening({ channels: ["x; drop table y"] })).toThrow("invalid");
});
