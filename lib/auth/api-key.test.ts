import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { generateApiKey, parseApiKey, secretMatches } from "./api-key";

test("K-2 a key is parsed into its id and the hash of its secret", () => {
  const made = generateApiKey();
  expect(made.key).toMatch(/^lhk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
  expect(parseApiKey(made.key)).toEqual({ keyId: made.keyId, secretHash: made.secretHash });
  expect(made.key).not.toContain(made.secretHash.toString("hex"));
});

test("K-1 the checksum detects any single changed character", () => {
  const { key } = generateApiKey();
  for (let i = 9; i < key.length; i += 1) {
    const other = key[i] === "a" ? "b" : "a";
    expect(parseApiKey(key.slice(0, i) + other + key.slice(i + 1))).toBeNull();
  }
});

test("the checksum is CRC-32 in base 62, as secret scanners expect it", () => {
  const { key } = generateApiKey();
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const value = [...key.slice(-6)].reduce((sum, char) => sum * 62 + digits.indexOf(char), 0);
  expect(value).toBe(crc32(key.slice(0, -7)));
});

test.each(["", "lhk_live_", " KEY", "KEY ", "Bearer KEY", "KEY\n"])("%j is not a key", (form) => {
  expect(parseApiKey(form.replace("KEY", generateApiKey().key))).toBeNull();
});

test("K-3 only the stored hash matches, and a missing hash never does", () => {
  const mine = generateApiKey();
  expect(secretMatches(mine.secretHash, Buffer.from(mine.secretHash))).toBe(true);
  expect(secretMatches(mine.secretHash, generateApiKey().secretHash)).toBe(false);
  expect(secretMatches(Buffer.alloc(32), null)).toBe(false);
});

test("ids and secrets never repeat and use every character", () => {
  const keys = Array.from({ length: 500 }, generateApiKey);
  expect(new Set(keys.map((made) => made.keyId)).size).toBe(500);
  expect(new Set(keys.flatMap((made) => [...made.key.slice(22, 65)])).size).toBe(62);
});
