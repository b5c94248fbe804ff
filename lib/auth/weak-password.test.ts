import { expect, test } from "vitest";
import { hashPassword } from "./password";
import { weaknessOf } from "./weak-password";

const ADA = { email: "ada.lovelace@acme.example", displayName: "Ada Lovelace" };

test.each([
  ["aaaaaaaaaaaa", "repeats"],
  ["hunter2hunter2", "repeats"],
  ["passwordpassword", "repeats"],
  ["123456789012", "many people use"],
  ["Password123!", "many people use"],
  ["p4ssw0rd1234", "many people use"],
  ["qwertyuiop12", "many people use"],
  ["ada.lovelace@acme.example1", "your address"],
  ["lovelacelovelace1", "repeats"],
  ["Ada Lovelace1", "your name"],
  ["leasehold2026", "name of this product"],
  ["1a2b3c4d5e6f", "easy to guess"],
])("a weak password is refused with the reason: %s", (password, reason) => {
  expect(weaknessOf(password, ADA)).toContain(reason);
});

test.each(["correct horse battery", "xK9#mQ2$vL7p", "ein Satz, den niemand sagt", "пароль из четырёх слов"])(
  "a strong password is accepted: %s",
  (password) => {
    expect(weaknessOf(password, ADA)).toBeNull();
  },
);

test("another person's name is not a weakness", () => {
  const quirin = { email: "q@x.example", displayName: "Quirinius Vexelbach" };
  expect(weaknessOf("quiriniusvexelbach", quirin)).toContain("your name");
  expect(weaknessOf("quiriniusvexelbach", ADA)).toBeNull();
});

test("no input costs more processor time than a few hashes", async () => {
  const texts = [
    "a4@s5$e3",
    "qwerty",
    "1q2w3e4r",
    "p@55w0rd",
    "aA",
    "0O",
    "l1I|",
    "4e@3",
    "19.11.",
    "abcabc",
    "ﷺ",
    "😀",
  ];
  const cost = async (run: () => unknown) => {
    const began = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(began);
    return user + system;
  };
  weaknessOf("warm", ADA);
  const hash = await cost(() => hashPassword("correct horse battery"));
  for (const text of texts)
    expect((await cost(() => weaknessOf(text.repeat(256 / text.length), ADA))) / hash, text).toBeLessThan(5);
});
