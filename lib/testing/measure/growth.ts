/*
 * Measures cost without a benchmark: growth with the size of an input, the longest pause of the event loop, memory, and
 * regular expressions that could be superlinear. Costs are processor time, so a busy machine does not change a result.
 *
 * Start with `expectLinear` and `hostile` below; `longest-turn.ts` measures pauses, `patterns.ts` regular expressions.
 */

import { expect } from "vitest";

/** The largest of three inputs, in characters; the others are a quarter and a sixteenth of it. */
const LARGEST = 32 * 1024;
/** No superlinear code reads the largest input in this time; most inputs need a fraction of it. */
const SURELY_LINEAR_MS = 5;
/** How far the cost may exceed proportional growth. */
const SLACK = 1.5;
/** Noise that the processor's clock and the garbage collector add to any cost. */
const NOISE_MS = 20;
/** On an idle machine the first round decides. */
const ROUNDS = 20;

/**
 * Fails when the cost of an input grows faster than its size. Measures processor time and takes the best of several
 * rounds, so that a busy machine does not change the result.
 */
export function expectLinear(
  name: string,
  make: (characters: number) => string,
  { read, largest = LARGEST }: { readonly read: (text: string) => unknown; readonly largest?: number },
): void {
  const large = make(largest);
  if (cost(read, large) < SURELY_LINEAR_MS) return;
  const sizes = [16, 4, 1] as const;
  const best = new Map<number, number>(sizes.map((part) => [part, Number.POSITIVE_INFINITY]));
  const inputs = new Map<number, string>(sizes.map((part) => [part, part === 1 ? large : make(largest / part)]));
  const of = (part: number) => best.get(part) ?? 0;
  const isLinear = () => [16, 4].every((part) => of(1) <= part * SLACK * of(part) + NOISE_MS);
  for (let round = 0; round < ROUNDS && (round === 0 || !isLinear()); round += 1)
    for (const part of sizes) best.set(part, Math.min(of(part), cost(read, inputs.get(part) ?? "")));
  const figures = sizes.map((part) => `${largest / part} characters: ${of(part).toFixed(1)} ms`).join(", ");
  expect(isLinear(), `${name} is not linear: ${figures}`).toBe(true);
}

/** Returns milliseconds of processor time. Refusing an input counts as reading it. */
function cost(read: (text: string) => unknown, text: string): number {
  const began = process.cpuUsage();
  try {
    read(text);
  } catch {
    // A refusal also counts as read.
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

const HEADS = ["", '"', '{{"', '{"a":', "-----BEGIN PRIVATE KEY-----", "https://"];
const BITS = [
  "a",
  " ",
  "\t",
  "\n",
  "\r\n",
  '"',
  "'",
  "\\",
  '\\"',
  "{",
  "{{",
  "}}",
  "[",
  "(",
  "-",
  ".",
  ",",
  ":",
  "=",
  "?",
  "*",
  "/",
  "%",
  "-----BEGIN PRIVATE KEY-----",
  "-eyJaaaaaa",
  "eyJ.",
  "password=",
  "token=a ",
  "Bearer ",
  "https://",
  "http://a:a",
  "a@",
  "://a:",
  "\u001b[",
  "\u001b]8;;",
  "\u001b[1",
  "1",
  "1e",
  "9007199254740993,",
  "\ud800",
  "\u{1f600}",
  "\u202e",
  "\u0000",
  "\ufffd",
  "    at a (b:1:1)\n",
  "Caused by: ",
  'File "a", line 1\n',
  "ghp_aaaaaaaa",
  "AKIAAAAAAAAAAAAA",
  "xoxb-",
  "whsec_",
  "lhk_a_",
  "abab",
  "supersecretvalu",
  "* ",
  "a-",
  "_",
  "--password ",
  "\\u0061",
  "&amp;",
  "| default: ",
  "${",
  "<a ",
];

/** Feeds a parser with every kind of text, each at three sizes if it takes long. Fails like `expectLinear`. */
export function hostile(name: string, read: (text: string) => unknown): void {
  for (const head of HEADS)
    for (const bit of BITS)
      for (const tail of head === "" ? ["", "!"] : ["!"])
        expectLinear(
          `${name} of ${JSON.stringify(head)} and ${JSON.stringify(bit)} again and again, then ${JSON.stringify(tail)}`,
          (size) => head + bit.repeat(Math.ceil(size / bit.length)) + tail,
          { read },
        );
}

/** The same with a few kinds of text, for functions that pass their texts to parsers that `hostile` feeds. */
export function hostileInPlaces(name: string, read: (text: string) => unknown): void {
  for (const bit of ["a", " ", ".", '\\"', "{{", "a@", "://a:", "1", "-eyJaaaaaa", "/", "abab", "\u{1f600}"])
    expectLinear(
      `${name} of ${JSON.stringify(bit)} again and again`,
      (size) => `${bit.repeat(Math.ceil(size / bit.length))}!`,
      { read, largest: 16 * 1024 },
    );
}

/** Cuts a text into parts, as read from a pipe. */
export function cut(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / 4096) }, (_, part) =>
    bytes.subarray(part * 4096, (part + 1) * 4096),
  );
}
