import { expect, test } from "vitest";
import { hashPassword, verifyPassword } from "./password";

test("PW-1 argon2id with 64 MiB and three passes", async () => {
  const stored = await hashPassword("correct horse battery");
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=65536,t=3,p=1\$/);
  expect(await verifyPassword("correct horse battery", stored)).toBe(true);
  expect(await verifyPassword("correct horse batterz", stored)).toBe(false);
});

test("PW-1 the same password typed in another normal form matches", async () => {
  const stored = await hashPassword("Ａ\u00e9 long password");
  expect(await verifyPassword("Ae\u0301 long password", stored)).toBe(true);
});

test.each(["short", "elevenchars", "x".repeat(257)])("PW-1 %s is not taken", async (password) => {
  await expect(hashPassword(password)).rejects.toThrow(RangeError);
});

test("PW-1 an unknown user costs a verification too, and a broken hash is a no", async () => {
  await verifyPassword("warm the dummy hash", null);
  const started = performance.now();
  expect(await verifyPassword("correct horse battery", null)).toBe(false);
  const unknown = performance.now() - started;
  expect(await verifyPassword("correct horse battery", "not a hash")).toBe(false);
  expect(unknown).toBeGreaterThan(5);
});

test("PW-1 more callers than slots all get their answer", async () => {
  const stored = await hashPassword("correct horse battery");
  const answers = await Promise.all(
    Array.from({ length: 9 }, (_, i) => verifyPassword(i % 2 ? "wrong password" : "correct horse battery", stored)),
  );
  expect(answers).toEqual([true, false, true, false, true, false, true, false, true]);
});
