import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { heldBytes } from "@/lib/testing/measure/held-memory";
import { AttemptArtifacts } from "../artifacts/attempt-artifacts";
import type { ArtifactStore } from "../artifacts/types";
import { secretForms } from "../output/secret-forms";
import { FrameSink } from "./frame-sink";
import { RowChannel } from "./row-channel";

const MB = 1024 * 1024;
/** Two megabytes, plus what the process itself sometimes needs. */
const MOST_HELD = 4 * MB;
const FRAME = 65_000;
const MOST_ROW_CHARS = 65_400;
const none = secretForms([]);

const line = (frame: object): Buffer => Buffer.from(`${JSON.stringify(frame)}\n`);
const list = (bit: string, chars: number): string =>
  `[${bit},`
    .padEnd(chars, `${bit},`)
    .slice(0, -1)
    .replace(/,[^,]*$/, "]");
const sent = (type: string, value: string): Buffer => Buffer.from(`{"type":"${type}","value":${value}}\n`);
function* times(count: number, make: (n: number) => Buffer): Generator<Buffer> {
  for (let n = 0; n < count; n += 1) yield make(n);
}

/** Sends pieces on fd 3, and returns the bytes that the sink holds after the last one, before the stream ends. */
async function heldAfter(
  pieces: Iterable<Buffer>,
  { rows = null }: { rows?: RowChannel | null } = {},
): Promise<number> {
  const lines: string[] = [];
  const onLog = (_level: string, text: string) => void (lines.length < 100 && lines.push(text));
  const sink = new FrameSink({ ctx: { onLog, onProgress: () => {} }, secrets: none, rows });
  const before = await heldBytes();
  let isSent = () => {};
  let end = () => {};
  const allSent = new Promise<void>((resolve) => {
    isSent = resolve;
  });
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const reading = sink.read(
    Readable.from(
      (async function* () {
        yield* pieces;
        isSent();
        await ended;
      })(),
    ),
  );
  await Promise.race([allSent, sleep(rows ? 1000 : 50_000)]);
  await sleep(50);
  const held = (await heldBytes()) - before;
  rows?.discard();
  end();
  await reading;
  expect([lines, sink, await sink.takeResult()]).toBeDefined();
  return held;
}

const NAMED = { type: "artifact", name: "a", path: "b" };
const long = (n: number): string => `€${n}`.padEnd(FRAME - 200, "a");
const HOSTILE: readonly (readonly [what: string, pieces: () => Iterable<Buffer>])[] = [
  ["long paths", () => times(500, (n) => line({ ...NAMED, path: long(n) }))],
  ["long names", () => times(500, (n) => line({ ...NAMED, name: long(n) }))],
  ["long paths without a name", () => times(500, (n) => line({ type: "artifact", path: `./${long(n)}` }))],
  ["long content types", () => times(500, (n) => line({ ...NAMED, content_type: long(n) }))],
  [
    "many files",
    () => times(20_000, (n) => line({ ...NAMED, name: `${n}`.padEnd(200, "é"), path: `${n}`.padEnd(2000, "é") })),
  ],
  ["a result of empty objects", () => [sent("result", list("{}", MB - 100))]],
  ["a result of empty lists", () => [sent("result", list("[[]]", MB - 100))]],
  ["a result of small objects", () => [sent("result", list('{"a":1}', MB - 100))]],
  ["a result of one long text", () => [sent("result", `"€${"a".repeat(MB - 100)}"`)]],
  ["a result of numbers that become texts", () => [sent("result", list("9007199254740993", MB - 100))]],
  ["a line that comes byte by byte", () => times(MB - 10, () => Buffer.from("a"))],
  ["a line that is too long", () => times(100, () => Buffer.alloc(65_536, "a"))],
  ["log messages", () => times(200, (n) => line({ type: "log", message: long(n) }))],
  ["reasons to snooze", () => times(200, (n) => line({ type: "snooze", seconds: 1, reason: long(n) }))],
  ["progress", () => times(200, (n) => line({ type: "progress", percent: 1, message: long(n) }))],
];

describe("a worker keeps at most about two megabytes of what a command sends on fd 3", () => {
  beforeAll(async () => {
    for (const [, pieces] of HOSTILE.slice(0, 4)) await heldAfter([...pieces()].slice(0, 5));
  });

  test.each(HOSTILE)("%s", async (what, pieces) => {
    const held = await heldAfter(pieces());
    console.info(`${what}: ${(held / MB).toFixed(1)} MB`);
    expect(held).toBeLessThan(MOST_HELD);
  });

  test.each(["{}", "[]", '{"a":1}', '"a"'])("rows of many %s that are not read", async (bit) => {
    const rows = new RowChannel();
    const held = await heldAfter(
      times(300, () => sent("row", list(bit, MOST_ROW_CHARS))),
      { rows },
    );
    console.info(`rows of ${bit}: ${(held / MB).toFixed(1)} MB`);
    expect(held).toBeLessThan(MOST_HELD);
  });
});

describe("the artifacts of an attempt keep no bytes in memory", () => {
  const kept: ArtifactStore = {
    begin: async () => "1",
    append: async () => {},
    finish: async () => {},
    discard: async () => {},
  };
  test.each([
    ["that are stored", kept],
    ["that are refused", { ...kept, begin: () => Promise.reject(new Error("full")) }],
    ["whose chunks are refused", { ...kept, append: () => Promise.reject(new Error("full")) }],
    ["whose end is refused", { ...kept, finish: () => Promise.reject(new Error("full")) }],
  ])("%s", async (_what, artifacts) => {
    const attempt = new AttemptArtifacts({ artifacts, onLog: () => {} }, none);
    const before = await heldBytes();
    for (let n = 0; n < 200; n += 1) {
      const writer = attempt.open(`${n}`, {}, () => {});
      await writer.write(Buffer.alloc(200 * 1024));
      await writer.end().catch(() => {});
    }
    expect((await heldBytes()) - before).toBeLessThan(MOST_HELD);
    await attempt.discard();
  });
});
