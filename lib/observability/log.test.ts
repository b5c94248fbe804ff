import { describe, expect, test } from "vitest";
import { createLogger } from "./log";

function capture(format: "json" | "pretty") {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  return { lines, log: createLogger({ process: "worker", level: "debug", format, stream }) };
}

const KEY = `lhk_live_abcdefghijkl_${"x".repeat(43)}_abcdef`;

describe.each(["json", "pretty"] as const)("a %s log", (format) => {
  test("masks values under names of secrets, at any depth", () => {
    const { lines, log } = capture(format);
    log.info(
      { request: { headers: { authorization: "s3cret", cookie: "s3cret" } }, dataKey: "s3cret", apiKey: "s3cret" },
      "x",
    );
    expect(lines.join("")).not.toContain("s3cret");
    expect(lines.join("")).toContain("[redacted]");
  });

  test("masks logins in URLs, bearer values and API keys inside any text", () => {
    const { lines, log } = capture(format);
    log.error({ err: new Error(`postgresql://root:s3cret@db/x refused ${KEY}`) }, `Bearer s3cret-s3cret and ${KEY}`);
    expect(lines.join("")).not.toMatch(/s3cret|xxxxx/);
    expect(lines.join("")).toContain("db/x refused");
  });

  test("keeps the stack and the cause of an error", () => {
    const { lines, log } = capture(format);
    log.error({ err: new Error("outer", { cause: new Error("inner") }) }, "failed");
    expect(lines.join("")).toContain("log.test.ts");
    if (format === "json") expect(lines.join("")).toContain("inner");
  });

  test("writes each entry with one write, with process and message", () => {
    const { lines, log } = capture(format);
    log.warn({ jobs: 3 }, "late");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/worker/);
    expect(lines[0]).toMatch(/late/);
  });
});
