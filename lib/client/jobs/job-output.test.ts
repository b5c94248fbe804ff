import { describe, expect, test } from "vitest";
import type { LogEntry } from "@/lib/contract";
import { appendLines, type OutputLine } from "./job-output";

let seq = 0;
const chunk = (body: string, stream: LogEntry["stream"] = "stdout"): LogEntry => ({
  attempt_no: 1,
  seq: ++seq,
  stream,
  level: null,
  at: "2026-01-01T00:00:00.000Z",
  body,
  context: null,
});
const shown = (lines: readonly OutputLine[]) => lines.map((line) => `${line.stream}: ${line.text}`);

describe("chunks become lines", () => {
  test("a line split between two chunks is one line", () => {
    const first = appendLines([], [chunk("one\ntw")]);
    expect(shown(appendLines(first, [chunk("o\nthree\n")]))).toEqual(["stdout: one", "stdout: two", "stdout: three"]);
  });

  test("a stream does not continue another stream's line", () => {
    const lines = appendLines([], [chunk("out"), chunk("err\n", "stderr"), chunk("put\n")]);
    expect(shown(lines)).toEqual(["stdout: output", "stderr: err"]);
  });

  test("each log entry is its own line", () => {
    expect(shown(appendLines([], [chunk("a", "log"), chunk("b", "log")]))).toEqual(["log: a", "log: b"]);
  });

  test("empty lines are kept", () => {
    expect(shown(appendLines([], [chunk("a\n\nb\n")]))).toEqual(["stdout: a", "stdout: ", "stdout: b"]);
  });

  test("a newline in its own chunk ends the open line and adds none", () => {
    expect(shown(appendLines([], [chunk("a"), chunk("\n"), chunk("b\n")]))).toEqual(["stdout: a", "stdout: b"]);
  });
});
