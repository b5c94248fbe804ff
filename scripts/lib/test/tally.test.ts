import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Tally } from "./tally.mjs";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "leasehold-tally-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function report(...suites: { status: string; tests: string[] }[]): string {
  const file = path.join(folder, "report.json");
  const testResults = suites.map(({ status, tests }, index) => ({
    name: `file-${index}.test.ts`,
    status,
    assertionResults: tests.map((outcome, number) => ({ status: outcome, fullName: `test ${number}` })),
  }));
  writeFileSync(file, JSON.stringify({ testResults }));
  return file;
}

test("counts tests and checks, and lists failures by name", () => {
  const tally = new Tally();
  tally.check("types", true);
  tally.addReport(
    "unit",
    report({ status: "passed", tests: ["passed", "passed"] }, { status: "failed", tests: ["failed", "passed"] }),
    1,
  );
  expect([tally.passed, tally.failed]).toEqual([4, 1]);
  expect(tally.failures).toEqual(["file-1.test.ts: test 0"]);
});

test("a skipped test counts neither as passed nor as failed", () => {
  const tally = new Tally();
  tally.addReport("unit", report({ status: "passed", tests: ["passed", "skipped", "todo"] }), 0);
  expect([tally.passed, tally.failed, tally.skipped]).toEqual([1, 0, 2]);
});

test("a file that cannot be loaded, a run that breaks, and a run without a report are failures", () => {
  const broken = new Tally();
  broken.addReport("unit", report({ status: "failed", tests: [] }), 1);
  expect(broken.failed).toBe(1);
  const unhandled = new Tally();
  unhandled.addReport("unit", report({ status: "passed", tests: ["passed"] }), 1);
  expect([unhandled.passed, unhandled.failed]).toEqual([1, 1]);
  const silent = new Tally();
  silent.addReport("unit", path.join(folder, "missing.json"), 0);
  expect(silent.failed).toBe(1);
});
