import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { errorMessage } from "./error-lines";
import { secretForms } from "./secret-forms";
import { StreamCapture } from "./stream-capture";

const folder = mkdtempSync(join(tmpdir(), "leasehold errors "));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const has = (program: string) => spawnSync(program, ["--version"]).error === undefined;

/** Runs a failing program and returns the error message found in its standard error. */
function messageOf([program, file]: readonly [string, string], source: string): string | null {
  writeFileSync(join(folder, file), source);
  const { status, stderr } = spawnSync(program, [file], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  expect(status, stderr).not.toBe(0);
  return errorMessage(stderr);
}

describe.runIf(has("node"))("Node", () => {
  test.each([
    ["an error", "a.js", 'throw new TypeError("no disk")', "TypeError: no disk"],
    ["a message of two lines", "b.js", 'throw new Error("two\\nlines")', "Error: two\nlines"],
    ["an error with properties", "c.js", 'throw Object.assign(new Error("no disk"), { code: "E" })', "Error: no disk"],
    [
      "a cause",
      "d.mjs",
      'throw new Error("outer", { cause: new RangeError("inner") })',
      "Error: outer; caused by RangeError: inner",
    ],
    [
      "a name of its own below other output",
      "e.js",
      'console.error("closing"); class Boom extends Error { get name() { return "Boom" } }; throw new Boom("one\\ntwo")',
      "Boom: one\ntwo",
    ],
    ["a text", "f.js", 'throw "just a text"', "just a text"],
    ["a syntax error", "g.js", "foo(", "SyntaxError: Unexpected end of input"],
    ["a printed error", "h.js", 'console.error("run:", new Error("no disk")); process.exit(3)', "run: Error: no disk"],
    [
      "its own last word",
      "i.js",
      'console.error(new Error("x")); console.error("fatal: gave up"); process.exit(3)',
      "fatal: gave up",
    ],
    [
      "a note below",
      "j.js",
      'console.error(new Error("x")); console.error("cleaning up"); process.exit(3)',
      "Error: x",
    ],
  ])("%s", (_what, file, source, expected) => {
    expect(messageOf(["node", file], source)).toBe(expected);
  });

  test("a rejection and a missing module", () => {
    expect(messageOf(["node", "k.js"], 'Promise.reject("no disk")')).toMatch(
      /^UnhandledPromiseRejection: .*"no disk"\.$/,
    );
    expect(messageOf(["node", "l.js"], 'require("nope")')).toMatch(/^Error: Cannot find module 'nope'\nRequire stack:/);
  });
});

describe.runIf(has("python3"))("Python", () => {
  test.each([
    ["an exception", "a.py", "def f():\n    raise ValueError('no disk')\nf()", "ValueError: no disk"],
    ["a message of two lines", "b.py", "raise ValueError('two\\n- lines')", "ValueError: two\n- lines"],
    [
      "a cause",
      "c.py",
      "try:\n    {}['k']\nexcept KeyError as e:\n    raise RuntimeError('no\\ndisk') from e",
      "RuntimeError: no\ndisk; caused by KeyError: 'k'",
    ],
    ["a syntax error", "d.py", "foo(", "SyntaxError: '(' was never closed"],
    ["a module that is not there", "e.py", "import nope_nope", "ModuleNotFoundError: No module named 'nope_nope'"],
    ["a text at its exit", "f.py", "import sys\nsys.exit('gave up')", "gave up"],
    ["endless recursion", "g.py", "def f():\n    f()\nf()", "RecursionError: maximum recursion depth exceeded"],
  ])("%s", (_what, file, source, expected) => {
    expect(messageOf(["python3", file], source)).toBe(expected);
  });
});

describe.runIf(has("java"))("Java", () => {
  test("an exception of two lines with a cause, and the compiler's first error", () => {
    const source = `public class A { public static void main(String[] a) {
      try { f(); } catch (Exception e) { throw new IllegalStateException("outer\\nsecond", e); } }
      static void f() throws Exception { throw new java.io.IOException("no disk"); } }`;
    expect(messageOf(["java", "A.java"], source)).toBe(
      "java.lang.IllegalStateException: outer\nsecond; caused by java.io.IOException: no disk",
    );
    expect(messageOf(["java", "B.java"], "public class B { int x = }")).toMatch(/^B\.java:1: error: illegal start/);
  }, 60_000);
});

test.runIf(has("bash"))("a shell error names the missing command", () => {
  expect(messageOf(["bash", "a.sh"], "set -e\necho one\nnope_nope x\n")).toBe(
    "a.sh: line 3: nope_nope: command not found",
  );
});

test.runIf(has("perl"))("Perl: the line before the stack and before the compilation summary", () => {
  expect(messageOf(["perl", "a.pl"], 'use Carp; sub f { confess "no disk" } f(1);')).toBe("no disk at a.pl line 1.");
  expect(messageOf(["perl", "b.pl"], "use Nope::Mod; 1;")).toMatch(/^Can't locate Nope\/Mod\.pm/);
});

test("a command's message never comes from the output of an earlier command", () => {
  const capture = new StreamCapture(secretForms([]), () => undefined);
  for (const text of ["Error: first\n", ""]) {
    capture.beginProcess();
    capture.push(Buffer.from(text));
    capture.endOfProcess();
    expect(capture.errorMessage()).toBe(text === "" ? null : "Error: first");
  }
});

test("any number of such lines is parsed in linear time", () => {
  const lines = [
    '  File "x", line 1',
    "    at f (/a.js:1:2) {",
    "x.rb:1:in 'f': a (A)",
    "\tfrom x.rb:1:in 'f'",
    "/a:1",
    "   ^",
  ];
  for (const line of [
    ...lines,
    "panic: x",
    "Traceback (most recent call last):",
    "Error: x",
    "Caused by: ",
    "Stack trace:\n#0 a\n\nNext A",
    "a.rb:1: syntax error, x",
    `${"(A".repeat(500)})`,
    "  + Exception Group Traceback",
    "",
  ]) {
    const flood = `${line}\n`.repeat(Math.ceil((192 * 1024) / (line.length + 1)));
    const begin = performance.now();
    errorMessage(flood);
    errorMessage(`\n${flood}`);
    expect(performance.now() - begin, line).toBeLessThan(3000);
  }
});

test("a group of Python without a message leaves the crash below it to be found", () => {
  const crash = ["Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "ValueError: no disk", ""];
  expect(errorMessage(["  + Exception Group Traceback", "  | ", ...crash].join("\n"))).toBe("ValueError: no disk");
  expect(errorMessage(["ValueError: no disk", "  + Exception Group Traceback", "x", ""].join("\n"))).toBe("x");
});

test("reads the last 5,000 lines, and the last 128 KiB", () => {
  const crash = "Error: no disk\n    at f (/a.js:1:2)\n";
  expect(errorMessage(`${crash}${"\n".repeat(4990)}`)).toBe("Error: no disk");
  expect(errorMessage(`${crash}${"\n".repeat(5010)}`)).toBe(null);
  expect(errorMessage(`${crash}${`${"x".repeat(8 * 1024)}\n`.repeat(16)}last`)).toBe("last");
});

test("returns the line above a native stack trace", () => {
  const lines = ["node[8]: pthread_create: Resource temporarily unavailable", "----- Native stack trace -----", ""];
  const frames = [" 1: 0xcb0001 node::Abort() [/usr/bin/node]", " 8: 0xbb835e _start [/usr/bin/node]", ""];
  expect(errorMessage([...lines, ...frames].join("\n"))).toBe(lines[0]);
});
