import { expect, test } from "vitest";
import { TooManyWaiting } from "@/lib/turn-lines";
import { networkOf } from "./address-group";
import { hashPassword, verifyPassword } from "./password";

test("PW-1 passwords are hashed with argon2id, 64 MiB and three passes", async () => {
  const stored = await hashPassword("correct horse battery");
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=65536,t=3,p=1\$/);
  expect(await verifyPassword("correct horse battery", stored)).toBe(true);
  expect(await verifyPassword("correct horse batterz", stored)).toBe(false);
});

test("PW-1 the same password in another Unicode normal form matches", async () => {
  const stored = await hashPassword("Ａ\u00e9 long password");
  expect(await verifyPassword("Ae\u0301 long password", stored)).toBe(true);
});

test.each(["short", "elevenchars", "x".repeat(257)])("PW-1 %s is refused", async (password) => {
  await expect(hashPassword(password)).rejects.toThrow(RangeError);
});

test("PW-1 an unknown user costs a verification too, and an invalid hash does not match", async () => {
  await verifyPassword("warm the dummy hash", null);
  const started = performance.now();
  expect(await verifyPassword("correct horse battery", null)).toBe(false);
  const unknown = performance.now() - started;
  expect(await verifyPassword("correct horse battery", "not a hash")).toBe(false);
  expect(unknown).toBeGreaterThan(5);
});

test("PW-1 more callers than slots all get an answer", async () => {
  const stored = await hashPassword("correct horse battery");
  const answers = await Promise.all(
    Array.from({ length: 9 }, (_, i) => verifyPassword(i % 2 ? "wrong password" : "correct horse battery", stored)),
  );
  expect(answers).toEqual([true, false, true, false, true, false, true, false, true]);
});

test("checks of one network do not delay other networks or known browsers", async () => {
  const ended: string[] = [];
  const check = (ip: string, first = false) =>
    verifyPassword("wrong password", null, { name: networkOf(ip), first }).then(
      () => ended.push(first ? "known" : ip),
      (error: unknown) => ended.push(error instanceof TooManyWaiting ? "refused" : String(error)),
    );
  // Addresses of one network.
  const flood = Array.from({ length: 40 }, (_, n) => check(`2001:db8:1:${n.toString(16)}::1`));
  await Promise.all([...flood, check("192.0.2.1"), check("10.0.0.1", true)]);
  const checked = ended.filter((who) => who !== "refused");
  expect(ended).toHaveLength(42);
  expect(checked).toHaveLength(4 + 20 + 2);
  // Behind the flood they would end last. On a busy machine a thread may fall behind the three beside it.
  expect(checked.indexOf("known")).toBeLessThan(16);
  expect(checked.indexOf("192.0.2.1")).toBeLessThan(18);
});

test("many checks of one known account do not delay other known accounts or strangers", async () => {
  const ended: string[] = [];
  const check = async (who: string, name: string, first: boolean) => {
    await verifyPassword("wrong password", null, { name, first });
    ended.push(who);
  };
  const flood = Array.from({ length: 22 }, () => check("flood", "eve@example.test", true));
  await Promise.all([...flood, check("stranger", "192.0.2.0/24", false), check("known", "ada@example.test", true)]);
  expect(ended.indexOf("known")).toBeLessThan(16);
  expect(ended.indexOf("stranger")).toBeLessThan(18);
});
