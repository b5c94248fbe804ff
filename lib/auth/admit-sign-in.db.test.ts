import { afterAll, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { admitSignIn } from "./admit-sign-in";
import { LOGIN_ACCOUNT, LOGIN_ADDRESS, LOGIN_PAIR, returnToBuckets } from "./throttle";

const database = await testDatabase();
const db = openDatabase({ prepare: true, url: database.urlFor("auth"), role: "auth", max: 3, applicationName: "test" });
afterAll(() => db.close());

const admit = (email: string, ip: string, device: string | null = null) => admitSignIn(db, { email, ip, device });
const wait = async (email: string, ip: string, device?: string) => (await admit(email, ip, device)).waitSeconds;
const fill = async (n: number, work: (i: number) => Promise<unknown>) => {
  for (let i = 0; i < n; i += 1) await work(i);
};
const buckets = async (pattern = "%") =>
  Number((await database.query("select count(*) as n from app.request_buckets where key like $1", [pattern]))[0]?.n);

test("after its burst an address is blocked for an account, other addresses are not", async () => {
  await fill(LOGIN_PAIR.burst, async () => expect(await wait("max@example.test", "10.0.0.1")).toBe(0));
  expect(await wait("max@example.test", "10.0.0.1")).toBe(LOGIN_PAIR.secondsPerToken);
  expect(await wait("max@example.test", "10.0.0.2")).toBe(0);
  expect(await wait("other@example.test", "10.0.0.1")).toBe(0);
});

test("wrong passwords from many addresses slow an account down and never block it", async () => {
  await fill(LOGIN_ACCOUNT.burst, async (i) =>
    expect((await admit("eva@example.test", `10.1.0.${i}`)).slow).toBe(false),
  );
  await fill(5, async (i) => {
    expect(await admit("eva@example.test", `10.1.1.${i}`)).toMatchObject({ waitSeconds: 0, slow: true });
  });
});

test("a known browser is neither blocked nor slowed down by other clients, and has its own limit", async () => {
  const email = "ida@example.test";
  await fill(LOGIN_ACCOUNT.burst, (i) => admit(email, `10.2.0.${i % 2}`));
  await fill(LOGIN_ADDRESS.burst, (i) => admit(`x${i}@example.test`, "10.2.0.1"));
  expect(await wait(email, "10.2.0.1")).toBeGreaterThan(0);
  expect(await admit(email, "10.2.0.1", "known")).toMatchObject({ waitSeconds: 0, slow: false });
  await fill(LOGIN_PAIR.burst - 1, async () => expect(await wait(email, "10.2.0.1", "known")).toBe(0));
  expect(await wait(email, "10.2.0.1", "known")).toBeGreaterThan(0);
});

test("an address is blocked over all accounts, an IPv6 one by its /64, and recovers with time", async () => {
  const take = (i: number) => wait(`a${i}@example.test`, `2001:db8:0:7::${i.toString(16)}`);
  await fill(LOGIN_ADDRESS.burst, async (i) => expect(await take(i)).toBe(0));
  expect(await take(1000)).toBeGreaterThan(0);
  expect(await wait("b@example.test", "2001:db8:0:8::1")).toBe(0);
  await database.moveClock(10 * LOGIN_ADDRESS.secondsPerToken * 1000);
  expect(await take(1001)).toBe(0);
  await database.moveClock(0);
});

test("a clock that is set back blocks no sign-in", async () => {
  await database.moveClock(2 * 3_600_000);
  await fill(LOGIN_PAIR.burst + 3, () => admit("early@example.test", "10.7.0.1"));
  await database.moveClock(0);
  await fill(LOGIN_PAIR.burst, async () => expect(await wait("early@example.test", "10.7.0.1")).toBe(0));
  expect(await wait("early@example.test", "10.7.0.1")).toBeGreaterThan(0);
});

test("concurrent callers never share the last token", async () => {
  const waits = await Promise.all(Array.from({ length: 40 }, () => wait("race@example.test", "10.3.0.1")));
  expect(waits.filter((seconds) => seconds === 0)).toHaveLength(LOGIN_PAIR.burst);
});

test("an attempt from a blocked address stores no row for the account", async () => {
  await fill(LOGIN_ADDRESS.burst, (i) => admit(`spray${i}@example.test`, "10.4.0.1"));
  const before = await buckets();
  await fill(50, (i) => admit(`late${i}@example.test`, "10.4.0.1"));
  expect(await buckets()).toBe(before);
});

test("full buckets are deleted by later sign-ins", async () => {
  expect(await buckets()).toBeGreaterThan(50);
  await database.moveClock(11 * 60_000);
  await fill(20, () => admit("clean@example.test", "10.5.0.1"));
  expect(await buckets()).toBeLessThanOrEqual(3);
  await database.moveClock(0);
});

test("a successful sign-in takes no token", async () => {
  await fill(LOGIN_PAIR.burst + 3, async () => {
    const { waitSeconds, taken } = await admit("lucky@example.test", "10.6.0.1");
    expect(waitSeconds).toBe(0);
    await returnToBuckets(db, taken);
  });
});
