import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { sharedCheck } from "./shared-check";

test("callers share one run, and its result for a second", async () => {
  const check = vi.fn(async () => sleep(20, check.mock.calls.length));
  const shared = sharedCheck(check, 0);
  expect(await Promise.all([shared(), shared(), shared()])).toEqual([1, 1, 1]);
  expect(await shared()).toBe(1);
  await expect.poll(shared, { timeout: 5000 }).toBe(2);
  expect(check).toHaveBeenCalledTimes(2);
});

test("one caller waits for the next run, and others get the last result meanwhile", async () => {
  const check = vi.fn(async () => sleep(300, check.mock.calls.length));
  const shared = sharedCheck(check, 0);
  expect(await shared()).toBe(1);
  await sleep(1100);
  const next = shared();
  expect(await Promise.all([shared(), shared()])).toEqual([1, 1]);
  expect(await next).toBe(2);
  expect(await shared()).toBe(2);
});

test("a check that throws, rejects or does not answer has failed, and runs again later", async () => {
  let answer: () => Promise<string> | string = () => new Promise<string>(() => undefined);
  const silent = sharedCheck(() => answer(), "failed");
  const rejects = sharedCheck(() => Promise.reject(new Error("down")), "failed");
  const throws = sharedCheck(() => {
    throw new Error("down");
  }, "failed");
  expect(await Promise.all([silent(), rejects(), throws()])).toEqual(["failed", "failed", "failed"]);
  answer = () => "up";
  await expect.poll(silent, { timeout: 5000 }).toBe("up");
});
