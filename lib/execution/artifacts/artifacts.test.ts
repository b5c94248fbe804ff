import { createHash, randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineJob, type HandlerContext } from "../define-job";
import { executeHandler } from "../execute-handler";
import type { HandlerRunContext } from "../handler/run-context";
import { ByteRedactor } from "../output/byte-redactor";
import { secretForms } from "../output/secret-forms";
import { memorySteps, noEvents, testContext } from "../test-support";
import { memoryArtifacts } from "./memory-artifacts.fixture";
import { nameProblem } from "./names";

function masked(text: Buffer, secrets: string[], pieces: number): string {
  const redactor = new ByteRedactor(secretForms(secrets));
  const cuts = Array.from({ length: pieces }, () => randomInt(text.length + 1)).sort((a, b) => a - b);
  const parts = [0, ...cuts].map((from, at) => redactor.push(text.subarray(from, cuts[at] ?? text.length)));
  return Buffer.concat([...parts, redactor.flush()]).toString("latin1");
}

test("a secret is masked wherever the stream is split, and all other bytes are unchanged", () => {
  const noise = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const text = Buffer.concat([noise, Buffer.from("hunter2-hunter2hunter2"), noise, Buffer.from("hunter")]);
  const expected = `${noise.toString("latin1")}[redacted]-[redacted]${noise.toString("latin1")}hunter`;
  for (let round = 0; round < 200; round += 1) expect(masked(text, ["hunter2"], round % 9)).toBe(expected);
  for (let round = 0; round < 50; round += 1) {
    expect(masked(Buffer.from("xabcabcdefghx"), ["abcabc", "abcdefgh"], round % 9)).toBe("x[redacted]x");
  }
});

test.each([
  ["report.txt", null],
  ["a/b c/ü.csv", null],
  ["x".repeat(200), null],
  ["x".repeat(201), "more than 200"],
  ["", "no name"],
  ["/etc/passwd", "plain relative path"],
  ["a/../b", "plain relative path"],
  ["a//b", "plain relative path"],
  ["a\\b", "plain relative path"],
  ["a\nb", "control or invisible character"],
  ["a\ud800", "control or invisible character"],
  ["gpj.\u202etxt", "control or invisible character"],
  ["a\ufeff", "control or invisible character"],
  [" \u3000", "blanks"],
  ["family 👨\u200d👩\u200d👧.png", null],
])("the name %j: %s", (name, problem) => {
  if (problem === null) expect(nameProblem(name)).toBeNull();
  else expect(nameProblem(name)).toContain(problem);
});

/** The artifacts of a handler, and the outcome of its attempt. */
async function ran(run: (ctx: HandlerContext<unknown>) => Promise<unknown>, changes: Partial<HandlerRunContext> = {}) {
  const kept = memoryArtifacts();
  const { ctx, recorded, stop } = testContext({ artifacts: kept.store, ...changes });
  const full = { ...ctx, transaction: () => Promise.reject(), publishEvent: noEvents, steps: memorySteps().steps };
  const handler = defineJob({ key: "h", schema: z.unknown(), run: (given) => run({ ...bind(given), stop } as never) });
  const { outcome } = await executeHandler(handler, full as unknown as HandlerRunContext);
  return { outcome, files: kept.files, discarded: kept.discarded, logs: recorded.logs };
}
const bind = (ctx: HandlerContext<unknown>) => ({ artifact: ctx.artifact, signal: ctx.signal });

test("a handler stores text, bytes and streams, and gets the stored size and SHA-256", async () => {
  const big = Buffer.alloc(600 * 1024, "0123456789");
  const { outcome, files } = await ran(async (ctx) => {
    const text = await ctx.artifact("text.txt", "grüße");
    await ctx.artifact("big.bin", big, { contentType: "application/x-big" });
    const writer = ctx.artifact("rows.csv");
    for (let row = 0; row < 3; row += 1) await writer.write(`${row}\n`);
    await writer.end();
    // Not awaited: the attempt waits for it.
    void ctx.artifact(
      "stream",
      (async function* () {
        yield "a";
        yield Buffer.from("b");
      })(),
    );
    return text;
  });
  const text = Buffer.from("grüße");
  const sha256 = createHash("sha256").update(text).digest("hex");
  expect(outcome).toEqual({ kind: "succeeded", result: { id: "1", name: "text.txt", size: 7, sha256 } });
  expect([...files.values()].map(({ name, contentType, bytes }) => [name, contentType, bytes.length])).toEqual([
    ["text.txt", "text/plain; charset=utf-8", 7],
    ["big.bin", "application/x-big", big.length],
    ["rows.csv", "text/csv; charset=utf-8", 6],
    ["stream", "application/octet-stream", 2],
  ]);
  expect([...files.values()][1]?.chunks).toEqual([262144, 262144, 90112]);
});

test("known secrets are masked in artifacts and the attempt logs it; text that only resembles a secret is kept", async () => {
  const content = "password=letmein token hunter2";
  const { files, logs } = await ran((ctx) => ctx.artifact("a", content), { secrets: ["hunter2"] });
  expect(files.get("a")?.bytes.toString()).toBe("password=letmein token [redacted]");
  expect(logs).toEqual([{ level: "warn", text: 'Artifact "a" was changed: secrets are masked.' }]);
});

test("an artifact that is not ended fails the attempt and is deleted", async () => {
  const { outcome, files, discarded } = await ran(async (ctx) => ctx.artifact("lost").write(Buffer.alloc(300_000)));
  expect(outcome).toMatchObject({
    kind: "failed",
    retryable: false,
    message: 'artifact "lost" was begun and not ended',
  });
  expect([files.size, discarded]).toEqual([0, ["1"]]);
});

test("a name can be used once, and a full quota fails the attempt permanently", async () => {
  const twice = await ran(async (ctx) => {
    await ctx.artifact("a", "1");
    await ctx.artifact("a", "2");
  });
  expect(twice.outcome).toMatchObject({ kind: "failed", retryable: false });
  expect(twice.files.get("a")?.bytes.toString()).toBe("1");
  const full = await ran((ctx) => ctx.artifact("full", "x".repeat(20)), { artifacts: memoryArtifacts(10).store });
  expect(full.outcome).toMatchObject({ kind: "failed", errorType: "internal", retryable: false });
  expect(full.logs[0]?.text).toContain('Artifact "full" is not kept');
});

test("a stopped attempt writes no further bytes", async () => {
  const { outcome, files } = await ran(async (ctx) => {
    const writer = ctx.artifact("a");
    await writer.write("1");
    await new Promise(setImmediate);
    (ctx as unknown as { stop(reason: string): void }).stop("cancel");
    await expect(writer.end()).rejects.toThrow("cancel");
  });
  expect([outcome.kind, files.size]).toEqual(["canceled", 0]);
});
