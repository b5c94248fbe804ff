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
    const forms = await formsInTexts([text, "other"], SECRETS, "acme");
    expect(redactText(text, forms)).toBe(redactText(text, all));
    expect(streamed(text, forms)).toBe(streamed(text, all));
  }
});

const cuts = (text: string): string[] => Array.from({ length: 40 }, (_, n) => text.slice(0, text.length - 1 - 3 * n));

test("long secrets that no text contains cost a fraction of all their forms", async () => {
  const texts = ["a".repeat(2048), JSON.stringify({ text: "b".repeat(2000) })];
  const both = async () => {
    const lazy = await longestTurn(() => formsInTexts(texts, HOSTILE, "acme"));
    const whole = await longestTurn(async () => secretForms(HOSTILE));
    return lazy.totalMs / whole.totalMs;
  };
  expect(Math.min(await both(), await both(), await both())).toBeLessThan(0.3);
});

test("of more secrets than are spelled out, a text is masked from the first beginning of one", async () => {
  const [first = "", second = "", third = "", fourth = ""] = HOSTILE;
  const text = `${first.slice(0, 20)} <${third}> and what follows`;
  const secrets = [`${second}x`, first.slice(0, 1000), third, "a secret that is not in it"];
  expect(redactText(text, await formsInTexts([text], secrets, "acme"))).toBe("[redacted]");
  const cut = `it says ${encodeURIComponent(fourth).slice(0, 9)}`;
  const forms = await formsInTexts(["nothing", cut], [...HOSTILE], "acme");
  expect(redactText("nothing", forms)).toBe("nothing");
  expect(streamed(cut, forms)).toBe("it says [redacted]");
});

/** The beginnings of many secrets, each in a text. */
const HEADS = HOSTILE.map((secret, n) => `${String.fromCharCode(97 + n)}${secret}`);
const echo = HEADS.map((secret) => secret.slice(0, 14)).join(" ");

test("calls of one line do not delay those of another line", async () => {
  let done = 0;
  const many = Array.from({ length: 100 }, async () => {
    await formsInTexts([echo], HEADS, "acme");
    done += 1;
  });
  const forms = await formsInTexts([`<${SECRETS[1]}>`], SECRETS, "globex");
  expect(forms.forms).toContain(SECRETS[1]);
  expect(done).toBeLessThan(20);
  await Promise.all(many);
});

test("a text with the beginnings of many long secrets costs a fraction of all their forms", async () => {
  const both = async () => {
    const lazy = await longestTurn(() => formsInTexts([echo], HEADS, "acme"));
    const whole = await longestTurn(async () => secretForms(HEADS));
    return lazy.totalMs / whole.totalMs;
  };
  expect(Math.min(await both(), await both(), await both())).toBeLessThan(0.5);
});

test("many concurrent deliveries whose answers contain the start of each secret yield the event loop", async () => {
  const texts = [HOSTILE[0]?.slice(0, 200) ?? "", "b".repeat(2048)];
  const run = () => Promise.all(Array.from({ length: 30 }, () => formsInTexts(texts, HOSTILE, "acme")));
  expect(await shareOfLongestTurn(run, 0.15)).toBeLessThan(0.15);
});
