import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { cookieNames, cookieValues, setCookie } from "./cookies";

/** A browser is known for half a year after its last sign-in. */
const GOOD_FOR_SECONDS = 180 * 86_400;
/** Accounts that one browser is known for. A further one replaces the one that signed in longest ago. */
const MOST_MARKS = 4;
const MARK = /^([0-9a-z]{1,10})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

/** What marks are signed with, and for which origin. */
export interface DeviceSettings {
  readonly origin: string;
  readonly deviceSecret: string;
}

/**
 * Returns the id of the browser that sent these cookies if it signed in to the account before, else null. The mark is signed
 * and bound to the account. It grants no access: it only exempts a sign-in from limits that others used up.
 */
export function findDevice(cookies: string | null, email: string, settings: DeviceSettings): string | null {
  const known = marksOf(cookies, settings).find((mark) => isGood(mark, email, settings));
  return known === undefined ? null : (MARK.exec(known)?.[2] ?? null);
}

/** Returns the Set-Cookie header that marks a browser as known to the account that has just signed in. */
export function deviceCookie(cookies: string | null, email: string, settings: DeviceSettings): string {
  const others = marksOf(cookies, settings).filter((mark) => !isGood(mark, email, settings));
  const expiry = Math.floor(Date.now() / 1000 + GOOD_FOR_SECONDS).toString(36);
  const nonce = randomBytes(16).toString("base64url");
  const mark = `${expiry}.${nonce}.${sign(`${expiry}.${nonce}`, email, settings).toString("base64url")}`;
  const value = [mark, ...others].slice(0, MOST_MARKS).join("~");
  return setCookie(settings.origin, { name: cookieNames(settings.origin).device, value, maxAge: GOOD_FOR_SECONDS });
}

function marksOf(cookies: string | null, { origin }: DeviceSettings): string[] {
  const values = cookieValues(cookies, cookieNames(origin).device);
  const marks = values.length === 1 ? (values[0] ?? "").split("~", MOST_MARKS) : [];
  return marks.filter((mark) => MARK.test(mark));
}

function isGood(mark: string, email: string, settings: DeviceSettings): boolean {
  const [, expiry = "", nonce = "", mac = ""] = MARK.exec(mark) ?? [];
  const wanted = sign(`${expiry}.${nonce}`, email, settings);
  const given = Buffer.from(mac, "base64url");
  const matches = given.length === wanted.length && timingSafeEqual(given, wanted);
  return matches && Number.parseInt(expiry, 36) > Date.now() / 1000;
}

function sign(text: string, email: string, { deviceSecret }: DeviceSettings): Buffer {
  return createHmac("sha256", deviceSecret).update(`${text}.${email}`).digest();
}
