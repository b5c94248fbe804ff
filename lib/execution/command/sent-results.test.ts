import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import { longestTurn } from "@/lib/testing/measure/longest-turn";
import { FrameOutline } from "../output/frame/result-line";
import { MAX_FRAME_BYTES } from "../output/frames";
import { secretForms } from "../output/secret-forms";
import { FrameSink } from "./frame-sink";

const MIB = 1024 * 1024;
const keys = (count: number, from = 0): string =>
  `{${Array.from({ length: count }, (_, n) => `"${(n + from).toString(36)}":1`).join()}}`;
const sent = (value: string): string => `{"type":"result","value":${value}}\n`;
const padding = `"${"a".repeat(MAX_FRAME_BYTES)}"`;

/** Sends lines on fd 3, and returns what is known when the command has ended. */
async function after(...lines: readonly string[]) {
  const logs: string[] = [];
  const onLog = (_level: string, text: string) => void logs.push(text);
  const sink = new FrameSink({ ctx: { onLog, onProgress: () => {} }, secrets: secretForms([]), rows: null });
  await sink.read(Readable.from(lines.map((line) => Buffer.from(line))));
  const result = await sink.takeResult();
  return { result, lost: sink.lost, logs };
}

test.each([
  ["of 100,000 keys", sent(keys(110_000))],
  ["with 100,000 other members", `{"type":"result",${keys(110_000).slice(1)}\n`],
  ["with 90,000 escaped keys", `{"type":"result",${'"\\u0074":1,'.repeat(90_000)}"a":1}\n`],
])("results %s, again and again, hold the event loop for no more than a few turns", async (_what, line) => {
  expect(line.length).toBeGreaterThan(0.85 * MIB);
  let [longest, total] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 3; round += 1) {
    const { longestMs, totalMs } = await longestTurn(() => after(...new Array<string>(20).fill(line)));
    [longest, total] = [Math.min(longest, longestMs), Math.min(total, totalMs)];
  }
  expect(longest).toBeLessThan(60);
  // To parse all of them takes two seconds.
  expect(total).toBeLessThan(1000);
});

test("only the last result is parsed, and only its first 20,000 values", async () => {
  const parse = vi.spyOn(JSON, "parse");
  const { result } = await after(...new Array<string>(5).fill(sent(keys(110_000))), sent(`[${keys(110_000)}]`));
  const parsed = parse.mock.calls.map(([text]) => text.length);
  parse.mockRestore();
  expect(result?.value).toHaveLength(1);
  expect([parsed.length, (parsed[0] ?? 0) < 0.2 * MIB]).toEqual([1, true]);
});

test("of a result with too many values the first are kept, and the log says so", async () => {
  const { result, lost } = await after(sent(keys(30_000)));
  const kept = result?.value as Record<string, unknown>;
  expect([Object.keys(kept).length, kept["0"], kept["7pr"]]).toEqual([9999, 1, undefined]);
  expect([result?.changes, lost]).toEqual([["values are left out: too many values"], null]);
});

test.each([
  ["10,000 values", JSON.stringify(new Array(9999).fill({}).fill([], 4000))],
  ["a long text with commas and braces", JSON.stringify('{"a,[":'.repeat(50_000))],
])("a result of %s is kept as it is", async (_what, value) => {
  const { result } = await after(`{"other":${keys(20_001)},"value":${value},"type":"result"}\n`);
  const kept = JSON.stringify(result?.value);
  if (value.length < 256 * 1024) expect(kept).toBe(value);
  expect(result?.changes.filter((change) => change.includes("too many"))).toEqual([]);
});

const GOOD = sent("1");
const LOST = "the command sent a result that cannot be read: a line is not JSON";
const BAD: readonly (readonly [what: string, line: string])[] = [
  ["short", sent("nope")],
  ["long", sent(`[${padding},nope]`)],
  ["with many values", sent(`[${keys(30_000)},nope]`)],
  ["with more behind it", `${sent(keys(30_000)).trim()} nope\n`],
  ["not closed", `{"type":"result","value":[${padding}\n`],
];

test.each(BAD)("a result that is no JSON (%s) fails the attempt unless a later one replaces it", async (_what, bad) => {
  expect((await after(bad)).lost).toBe(LOST);
  expect(await after(bad)).toMatchObject({ result: null, logs: ["fd 3: a line is not JSON"] });
  expect((await after(GOOD, bad)).lost).toBe(LOST);
  expect(await after(bad, GOOD)).toMatchObject({ lost: null, result: { value: 1 } });
});

test("a long line that is no result leaves the result as it is", async () => {
  for (const line of [
    `{"type":"row","value":{"type":"result","value":${padding}}}`,
    `{"value":{"type":"result"},"a":${padding}}`,
    `{"type":"result","a":${padding},"type":"log"}`,
  ])
    expect(await after(GOOD, `${line}\n`)).toMatchObject({
      lost: null,
      result: { value: 1 },
      logs: [expect.stringMatching(/^fd 3: a frame of \d+ bytes is too long/)],
    });
  expect(await after(GOOD, `[${padding}]\n`)).toMatchObject({ result: { value: 1 }, lost: null });
});

test.each([
  ['{"type":"result","value":1}', "result", "1"],
  [' {"value" : [1, {"type":"row"}] , "type" : "result" } ', "result", ' [1, {"type":"row"}] '],
  ['{"type":"row","type":"result","value":1,"value":{"value":2}}', "result", '{"value":2}'],
  ['{"\\u0074ype":"\\u0072esult","v\\u0061lue":"\\"}"}', "result", '"\\"}"'],
  ['{"a":{"type":"result"},"type":7}', null, null],
  ["{}", null, null],
  [`{${'"\\u0074":1,'.repeat(99)}"\\u0074ype":"row"}`, "row", null],
])("the type and the value of %s are found without parsing it", (line, type, value) => {
  const outline = new FrameOutline(Buffer.from(line));
  expect([outline.isObject, outline.type, outline.valueText()]).toEqual([true, type, value]);
});

test.each(["[]", '"type"', "", "{]", '{"a":[}', '{"a', "{"])("%s is no frame", (line) => {
  expect(new FrameOutline(Buffer.from(line)).isObject).toBe(false);
});
