import { expect, test } from "vitest";
import { cleanMessage, cleanResult, MAX_RESULT_BYTES } from "./clean-result";
import { dropTerminalSequences, TextCleaner } from "./clean-text";
import { FrameReader, MAX_FRAME_BYTES } from "./frames";
import { LiveOutput } from "./live-output";
import { secretForms } from "./secret-forms";
import { StreamCapture, TAIL_BYTES } from "./stream-capture";
import { TailBuffer } from "./tail";

const none = secretForms([]);
const isWellFormed = (text: string) => !/\p{Surrogate}/u.test(text);

test.each([99, 100, 101, 300, 1])(
  "SUBPROC-08 the tail of chunks of %i bytes is the true suffix, at most as long as the limit",
  (size) => {
    const text = Array.from({ length: 1000 }, (_unused, index) => String(index % 10)).join("");
    const tail = new TailBuffer(100);
    for (let at = 0; at < text.length; at += size) {
      tail.append(Buffer.from(text.slice(at, at + size)));
      const kept = tail.bytes().toString();
      const seen = text.slice(0, at + size);
      expect(kept).toBe(seen.slice(-100));
    }
  },
);

test.each([-3, -2, -1, 0, 1, 2, 3])("PAYLOAD-03 characters of four bytes at a limit moved by %i", (offset) => {
  const cap = 100 + offset;
  const party = "🎉".repeat(60);
  const tail = new TailBuffer(cap);
  for (const byte of [party.slice(0, 30), party.slice(30)]) {
    tail.append(Buffer.from(byte));
  }
  const expected = "🎉".repeat(Math.floor(cap / 4));
  expect(tail.bytes().toString()).toBe(expected);
});

test("CM-6 tail and dropped bytes add up exactly", () => {
  for (const total of [10, TAIL_BYTES, TAIL_BYTES + 1, 1_000_000]) {
    const capture = new StreamCapture(none, () => undefined);
    const text = `${"abcdefg\n".repeat(Math.ceil(total / 8))}`.slice(0, total);
    capture.push(Buffer.from(text));
    const { tail, bytes, dropped } = capture.finish();
    expect({ bytes, tail }).toEqual({ bytes: total, tail: text.slice(-TAIL_BYTES) });
    expect(dropped).toBe(Math.max(0, total - TAIL_BYTES));
  }
});

const HOSTILE =
  "\u001b]8;;javascript:alert(1)\u001b\\x\u001b]8;;\u001b\\ <img src=x onerror=alert(1)> \u001b[2J\u001b[31mred\u001b[0m \u001b]52;c;ZXZpbA==\u0007\u202eb\b</script>\u001b";
const HARMLESS = "x <img src=x onerror=alert(1)> \u001b[31mred\u001b[0m \u202eb\b</script>";

test("UI-01 terminal sequences with effects are dropped, colours and text are kept", () => {
  expect(dropTerminalSequences(HOSTILE)).toBe(HARMLESS);
});

test("UI-01 terminal sequences are dropped when split at any byte", () => {
  const bytes = Buffer.from(HOSTILE);
  for (let at = 0; at <= bytes.length; at += 1) {
    const cleaner = new TextCleaner();
    expect(cleaner.push(bytes.subarray(0, at)) + cleaner.push(bytes.subarray(at)) + cleaner.flush()).toBe(HARMLESS);
  }
});

test("SUBPROC-10 NUL and invalid UTF-8 become U+FFFD", () => {
  const cleaner = new TextCleaner();
  const text = cleaner.push(Buffer.from([0x61, 0, 0xff, 0xed, 0xa0, 0x80, 0xf0, 0x9f])) + cleaner.flush();
  expect(text).toMatch(/^a\ufffd+$/);
});

test("PAYLOAD-03 results are cleaned, never refused", () => {
  const cycle: Record<string, unknown> = { "bad\udc00key": "half \ud800 \u0000" };
  cycle.self = cycle;
  const cleaned = cleanResult(
    {
      text: "ok 🎉",
      nan: Number.NaN,
      big: 2 ** 60,
      bigint: 10n ** 30n,
      when: new Date(0),
      gone: undefined,
      call: () => 1,
      cycle,
      password: "opensesame",
    },
    none,
  ) as Record<string, unknown>;
  expect(cleaned).toMatchObject({
    text: "ok 🎉",
    nan: null,
    big: "1152921504606846976",
    bigint: `1${"0".repeat(30)}`,
    when: "1970-01-01T00:00:00.000Z",
    password: "opensesame",
  });
  const json = JSON.stringify(cleaned);
  expect(json).not.toContain("\\u0000");
  expect(json).not.toMatch(/\\ud[89ab]/i);
  expect(Object.keys(cleaned)).not.toContain("gone");
});

test("PAYLOAD-08 a result of any depth and width is stored within limits", () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  expect(JSON.stringify(cleanResult(deep, none)).length).toBeLessThan(200);
  const wide = cleanResult(
    Array.from({ length: 50_000 }, (_unused, index) => index),
    none,
  ) as unknown[];
  expect(wide.length).toBeLessThanOrEqual(10_001);
  const large = cleanResult({ text: "€".repeat(MAX_RESULT_BYTES) }, none);
  expect(large).toMatchObject({ truncated: true, bytes: 3 * MAX_RESULT_BYTES + 11 });
  const hostile = {
    get trap() {
      throw new Error("no");
    },
  };
  expect(cleanResult(hostile, none)).toBe("[left out: unreadable]");
});

test("an error text is masked before it is truncated, and truncated between characters", () => {
  const forms = secretForms(["topsecretvalue"]);
  expect(cleanMessage(`failed with topsecretvalue`, forms)).toBe("failed with [redacted]");
  for (let pad = 7990; pad < 8003; pad += 1) {
    const text = cleanMessage(`${"x".repeat(pad)}🎉topsecretvalue${"y".repeat(50)}`, forms);
    expect(isWellFormed(text)).toBe(true);
    expect(text).not.toContain("topsec");
    expect(text.length).toBeLessThanOrEqual(8000);
  }
});

test("frames: invalid lines are reported and have no effect", () => {
  const reader = new FrameReader();
  const good = '{"type":"progress","percent":250,"message":"m"}\n';
  const lines = ["no json\n", "[]\n", "3\n", '{"type":"what"}\n', '{"type":"progress","percent":"x"}\n', "\n", good];
  const frames = lines.flatMap((line) => [...line].flatMap((char) => [...reader.push(Buffer.from(char))]));
  expect(frames.map((frame) => frame.type)).toEqual([
    "invalid",
    "invalid",
    "invalid",
    "invalid",
    "invalid",
    "progress",
  ]);
  expect(frames.at(-1)).toEqual({ type: "progress", percent: 100, message: "m" });
});

test("frames: the size of one is limited, and the next one is read", () => {
  const reader = new FrameReader();
  const row = (length: number) => `{"type":"row","value":"${"r".repeat(length)}"}\n`;
  const shell = row(0).length - 1;
  const frames = [
    ...reader.push(
      Buffer.from(row(MAX_FRAME_BYTES - shell) + row(MAX_FRAME_BYTES - shell + 1) + row(3_000_000) + row(1)),
    ),
  ];
  expect(frames.map((frame) => frame.type)).toEqual(["row", "invalid", "invalid", "row"]);
  expect(frames[1]).toMatchObject({ lost: "row" });
  expect(frames[2]).toMatchObject({ lost: "row" });
  expect([...reader.push(Buffer.from('{"type":"result","value":1}'))]).toEqual([]);
  expect(reader.flush()).toEqual([{ type: "result", line: Buffer.from('{"type":"result","value":1}') }]);
});

test("live output is bounded, reports how much it omits, and contains the end", () => {
  let sent = "";
  const live = new LiveOutput((text) => {
    sent += text;
  });
  for (let index = 0; index < 30_000; index += 1)
    live.write(`line ${String(index).padStart(6, "0")} ${"x".repeat(80)}\n`, 93);
  live.end();
  expect(sent.length).toBeLessThan(1024 * 1024 + 40_000);
  expect(sent).toMatch(/bytes left out/);
  expect(sent.endsWith(`line 029999 ${"x".repeat(80)}\n`)).toBe(true);
});
