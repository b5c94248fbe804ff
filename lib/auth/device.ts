import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { cookieNames, cookieValues, setCookie } from "./cookies";

/** A browser stays known for 180 days after its last sign-in. */
const GOOD_FOR_SECONDS = 180 * 86_400;
/** Accounts for which one browser stays known. A further account replaces the one that signed in longest ago. */
const MOST_MARKS = 4;
const MARK = /^([0-9a-z]{1,10})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{43})$/;
const TAG_BYTES = 12;

/** The key that signs marks, and the origin they are for. */
export interface DeviceSettings {
  readonly origin: string;
  readonly deviceSecret: string;
}

/** Derives the key that signs marks. It is the same in every web process. */
export const deviceSecretOf = (authSecret: string): string =>
  createHmac("sha256", authSecret).update("leasehold device").digest("hex");

/**
 * Returns the id of the browser that sent these cookies if it signed in to the account before, else null. The mark is
 * signed and bound to the account. It grants no access; it only exempts a sign-in from limits that other clients used
 * up.
 */
export function findDevice(cookies: string | null, email: string, settings: DeviceSettings): string | null {
  const account = accountTag(email, settings);
  return marksOf(cookies, settings).find((mark) => mark.account === account)?.nonce ?? null;
}

/**
 * Returns an opaque tag of the account that signed in last in this browser, else null. The tag reveals nothing about
 * the account, and is available before the request body is read.
 */
export function lastAccount(cookies: string | null, settings: DeviceSettings): string | null {
  return marksOf(cookies, settings)[0]?.account ?? null;
}

/** Returns the Set-Cookie header that marks a browser as known to the account that has just signed in. */
export function deviceCookie(cookies: string | null, email: string, settings: DeviceSettings): string {
  const account = accountTag(email, settings);
  const others = marksOf(cookies, settings).filter((mark) => mark.account !== account);
  const expiry = Math.floor(Date.now() / 1000 + GOOD_FOR_SECONDS).toString(36);
  const signed = `${expiry}.${randomBytes(16).toString("base64url")}.${account}`;
  const mark = `${signed}.${sign(signed, settings).toString("base64url")}`;
  const value = [mark, ...others.map(({ text }) => text)].slice(0, MOST_MARKS).join("~");
  return setCookie(settings.origin, { name: cookieNames(settings.origin).device, value, maxAge: GOOD_FOR_SECONDS });
}

interface Mark {
  readonly text: string;
  readonly nonce: string;
  readonly account: string;
}

/** Returns the marks in the cookie that this installation signed and that have not expired, latest first. */
function marksOf(cookies: string | null, settings: DeviceSettings): Mark[] {
  const values = cookieValues(cookies, cookieNames(settings.origin).device);
  const texts = values.length === 1 ? (values[0] ?? "").split("~", MOST_MARKS) : [];
  return texts.flatMap((text) => {
    const [, expiry = "", nonce = "", account = "", mac = ""] = MARK.exec(text) ?? [];
    const given = Buffer.from(mac, "base64url");
    const wanted = sign(`${expiry}.${nonce}.${account}`, settings);
    const isSigned = given.length === wanted.length && timingSafeEqual(given, wanted);
    return isSigned && Number.parseInt(expiry, 36) > Date.now() / 1000 ? [{ text, nonce, account }] : [];
  });
}

const accountTag = (email: string, settings: DeviceSettings): string =>
  sign(`account ${email}`, settings).subarray(0, TAG_BYTES).toString("base64url");

const sign = (text: string, { deviceSecret }: DeviceSettings): Buffer =>
  createHmac("sha256", deviceSecret).update(text).digest();
