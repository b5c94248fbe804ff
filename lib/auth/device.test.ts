import { afterEach, expect, test, vi } from "vitest";
import { deviceCookie, findDevice, lastAccount } from "./device";

const settings = { origin: "https://leasehold.example.com", deviceSecret: "a secret of this test" };
const EMAIL = "ada@example.test";
const sent = (setCookie: string) => setCookie.split(";")[0] ?? "";
afterEach(() => {
  vi.useRealTimers();
});

test("a browser is known only to the account that signed in, under one id", () => {
  const line = deviceCookie(null, EMAIL, settings);
  expect(line).toMatch(
    /^__Host-leasehold\.device=[\w.~-]+; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax; Secure$/,
  );
  const device = findDevice(sent(line), EMAIL, settings);
  expect(device).toMatch(/^[\w-]{22}$/);
  expect(findDevice(sent(line), EMAIL, settings)).toBe(device);
  expect(findDevice(sent(line), "eve@example.test", settings)).toBeNull();
  expect(line).not.toContain("ada");
});

test("an altered, duplicated or expired mark or one signed with another key is ignored", () => {
  const cookie = sent(deviceCookie(null, EMAIL, settings));
  const [name = "", mark = ""] = cookie.split("=");
  const [expiry = "", nonce = "", account = "", mac = ""] = mark.split(".");
  const other = sent(deviceCookie(null, "eve@example.test", settings)).split(".")[2];
  const later = (Number.parseInt(expiry, 36) + 1).toString(36);
  for (const forged of [
    `${name}=${later}.${nonce}.${account}.${mac}`,
    `${name}=${expiry}.${nonce.slice(1)}A.${account}.${mac}`,
    `${name}=${expiry}.${nonce}.${account}.${mac.slice(1)}A`,
    `${name}=${expiry}.${nonce}.${other}.${mac}`,
    `${name}=${mark}; ${name}=${mark}`,
    `leasehold.device=${mark}`,
    `${name}=`,
  ]) {
    expect(findDevice(forged, EMAIL, settings)).toBeNull();
    expect(findDevice(forged, "eve@example.test", settings)).toBeNull();
    expect(lastAccount(forged, settings)).toBeNull();
  }
  expect(findDevice(cookie, EMAIL, { ...settings, deviceSecret: "another one" })).toBeNull();
  vi.useFakeTimers({ now: Date.now() + 181 * 86_400_000 });
  expect(findDevice(cookie, EMAIL, settings)).toBeNull();
});

test("a browser used by several accounts is known to the last four", () => {
  let cookie: string | null = null;
  for (const n of [1, 2, 3, 1, 4, 5]) cookie = sent(deviceCookie(cookie, `p${n}@example.test`, settings));
  const known = [1, 2, 3, 4, 5].filter((n) => findDevice(cookie, `p${n}@example.test`, settings) !== null);
  expect(known).toEqual([1, 3, 4, 5]);
});

test("marks of one account contain the same account hash and nothing else about it", () => {
  const [one, again] = [deviceCookie(null, EMAIL, settings), deviceCookie(null, EMAIL, settings)].map(sent);
  const account = lastAccount(one ?? null, settings);
  expect(account).toMatch(/^[\w-]{16}$/);
  expect(lastAccount(again ?? null, settings)).toBe(account);
  const shared = sent(deviceCookie(one ?? null, "eve@example.test", settings));
  expect(lastAccount(shared, settings)).not.toBe(account);
  expect(lastAccount(null, settings)).toBeNull();
});
