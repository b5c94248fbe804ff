import { expect, test } from "vitest";
import { longestTurn, shareOfLongestTurn } from "@/lib/testing/measure/longest-turn";
import { formsInTexts } from "./forms-in-texts";
import { redactText, StreamRedactor } from "./redactor";
import { secretForms } from "./secret-forms";
import { headSpellings, spellings } from "./spellings";

const SECRETS = [
  "1234",
  "hunter2-Zürich/+=?",
  "twelve chars🎉 and then some",
  "eleven char🎉🎉 and then some",
  'it\'s "x" & <y> $HOME `z` \\ !',
  "two\nlines\tand a tab",
  "k".repeat(100),
  "abab".repeat(30),
];
const HOSTILE = Array.from({ length: 20 }, (_, n) => `${"\"$&'`\\+/=~!*(#".repeat(72)}${n}`);

const streamed = (text: string, forms: ReturnType<typeof secretForms>) => {
  const redactor = new StreamRedactor(forms);
  return redactor.push(text) + redactor.flush();
};

test("every spelling of a text starts with a spelling of its first characters", () => {
  for (const secret of [...SECRETS, ...HOSTILE.slice(0, 1), "é".repeat(40)]) {
    const heads = headSpellings(secret);
    const others = spellings(secret).filter((form) => !heads.some((head) => form.startsWith(head)));
    expect(others, secret).toEqual([]);
  }
});

test("a text is masked like with all forms, also when it is truncated inside a form", async () => {
  const all = secretForms(SECRETS);
  const texts = new Set(SECRETS.flatMap((secret) => spellings(secret).map((form) => `line\n<${form}> kkk ${form}`)));
  const endings = [...texts].filter((_, at) => at % 9 === 0).flatMap((text) => cuts(text));
  for (const text of [...texts, ...endings]) {
    const forms = await formsInTexts([text, "other"], SECRETS);
    expect(redactText(text, forms)).toBe(redactText(text, all));
    expect(streamed(text, forms)).toBe(streamed(text, all));
  }
});

const cuts = (text: string): string[] => Array.from({ length: 40 }, (_, n) => text.slice(0, text.length - 1 - 3 * n));

test("long secrets that no text contains cost a fraction of all their forms", async () => {
  const texts = ["a".repeat(2048), JSON.stringify({ text: "b".repeat(2000) })];
  const both = async () => {
    const lazy = await longestTurn(() => formsInTexts(texts, HOSTILE));
    const whole = await longestTurn(async () => secretForms(HOSTILE));
    return lazy.totalMs / whole.totalMs;
  };
  expect(Math.min(await both(), await both(), await both())).toBeLessThan(0.3);
});

test("many concurrent deliveries whose answers contain the start of each secret yield the event loop", async () => {
  const texts = [HOSTILE[0]?.slice(0, 200) ?? "", "b".repeat(2048)];
  const run = () => Promise.all(Array.from({ length: 10 }, () => formsInTexts(texts, HOSTILE)));
  expect(await shareOfLongestTurn(run, 0.15)).toBeLessThan(0.15);
});
