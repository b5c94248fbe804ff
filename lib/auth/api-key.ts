import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "lhk_live";
const ID_LENGTH = 12;
const SECRET_LENGTH = 43;
const CHECK_LENGTH = 6;
const FORM = new RegExp(
  `^${PREFIX}_([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}})_([0-9A-Za-z]{${CHECK_LENGTH}})$`,
);

/** A new API key: `key` is shown once, the rest is stored. */
export interface NewApiKey {
  readonly key: string;
  readonly keyId: string;
  readonly secretHash: Buffer;
  readonly last4: string;
}

export interface ParsedApiKey {
  readonly keyId: string;
  readonly secretHash: Buffer;
}

/** Generates a key of the form lhk_live_<id>_<secret>_<checksum>; its secret holds 256 random bits. */
export function generateApiKey(): NewApiKey {
  const keyId = randomText(ID_LENGTH);
  const secret = randomText(SECRET_LENGTH);
  const body = `${PREFIX}_${keyId}_${secret}`;
  return { key: `${body}_${checksum(body)}`, keyId, secretHash: hashSecret(secret), last4: secret.slice(-4) };
}

/** Parses a key. Returns null when its form or checksum is wrong, so typing errors cost no database call. */
export function parseApiKey(text: string): ParsedApiKey | null {
  const parts = FORM.exec(text);
  if (!parts) return null;
  const [, keyId = "", secret = "", check = ""] = parts;
  if (!equal(Buffer.from(check), Buffer.from(checksum(`${PREFIX}_${keyId}_${secret}`)))) return null;
  return { keyId, secretHash: hashSecret(secret) };
}

const NO_HASH = Buffer.alloc(32);

/** Compares in constant time; an unknown key (null) costs the same as a wrong secret. */
export function secretMatches(given: Buffer, stored: Buffer | null): boolean {
  const same = equal(given, stored ?? NO_HASH);
  return stored !== null && same;
}

function equal(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

// A secret of 256 random bits needs no slow hash.
function hashSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      // 248 = 4 * 62; larger bytes would make the first letters more likely.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
    }
  }
  return text;
}

function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let out = "";
  for (let i = 0; i < CHECK_LENGTH; i += 1) {
    out = ALPHABET[rest % 62] + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}
