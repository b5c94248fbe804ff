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

/** Runs a program that fails and answers what its standard error says is wrong. */
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
  test("an exception of two lines with a cause, and a compiler's first error", () => {
    const source = `public class A { public static void main(String[] a) {
      try { f(); } catch (Exception e) { throw new IllegalStateException("outer\\nsecond", e); } }
      static void f() throws Exception { throw new java.io.IOException("no disk"); } }`;
    expect(messageOf(["java", "A.java"], source)).toBe(
      "java.lang.IllegalStateException: outer\nsecond; caused by java.io.IOException: no disk",
    );
    expect(messageOf(["java", "B.java"], "public class B { int x = }")).toMatch(/^B\.java:1: error: illegal start/);
  }, 60_000);
});

test.runIf(has("bash"))("a shell names the command that it did not find", () => {
  expect(messageOf(["bash", "a.sh"], "set -e\necho one\nnope_nope x\n")).toBe(
    "a.sh: line 3: nope_nope: command not found",
  );
});

test.runIf(has("perl"))("Perl: the line before the calls and before what compiling says", () => {
  expect(messageOf(["perl", "a.pl"], 'use Carp; sub f { confess "no disk" } f(1);')).toBe("no disk at a.pl line 1.");
  expect(messageOf(["perl", "b.pl"], "use Nope::Mod; 1;")).toMatch(/^Can't locate Nope\/Mod\.pm/);
});

describe("texts of runtimes that a machine may not have", () => {
  test.each([
    [
      "Go",
      `panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.pick(...)
	/tmp/x.go:6
main.main()
	/tmp/x.go:10 +0x1d
exit status 2
`,
      "panic: runtime error: index out of range [5] with length 3",
    ],
    [
      "Go",
      `panic: first [recovered]
	panic: second

goroutine 1 [running]:
main.main.func1()
	/tmp/x.go:8 +0x65
panic({0x45c1a0?, 0x4887d8?})
	/usr/local/go/src/runtime/panic.go:770 +0x132
main.main()
	/tmp/x.go:11 +0x49
exit status 2
`,
      "panic: first [recovered]\n\tpanic: second",
    ],
    [
      "Go",
      `panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x45f3d2]

goroutine 1 [running]:
main.main()
	/tmp/x.go:9 +0x12
`,
      "panic: runtime error: invalid memory address or nil pointer dereference",
    ],
    [
      "Go",
      `fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:
main.main()
	/tmp/x.go:5 +0x2d

goroutine 18 [select (no cases)]:
main.main.func1()
	/tmp/x.go:4 +0x19
created by main.main in goroutine 1
	/tmp/x.go:3 +0x25
exit status 2
`,
      "fatal error: all goroutines are asleep - deadlock!",
    ],
    [
      "Go 1.19",
      `panic: two
lines [recovered]
	panic: outer: two
lines

goroutine 1 [running]:
main.main.func1()
	/tmp/b.go:4 +0x5a
panic({0x48aea0, 0xc000024250})
	/usr/lib/go-1.19/src/runtime/panic.go:884 +0x212
main.main()
	/tmp/b.go:5 +0x69
`,
      "panic: two\nlines [recovered]\n\tpanic: outer: two\nlines",
    ],
    [
      "Go 1.19",
      `fatal error: concurrent map writes

goroutine 1 [running]:
main.main()
	/tmp/h.go:2 +0x71

goroutine 5 [runnable]:
main.main.func1()
	/tmp/h.go:2 +0x2e
created by main.main
	/tmp/h.go:2 +0x5b
`,
      "fatal error: concurrent map writes",
    ],
    [
      "Ruby",
      `x.rb:2:in \`open': No such file or directory @ rb_sysopen - nope (Errno::ENOENT)
	from x.rb:2:in \`read'
	from x.rb:5:in \`<main>'
`,
      "x.rb:2:in `open': No such file or directory @ rb_sysopen - nope (Errno::ENOENT)",
    ],
    [
      "Ruby",
      `x.rb:4:in 'Object#f': outer (RuntimeError)
second
	from x.rb:7:in '<main>'
x.rb:2:in 'Object#f': inner (ArgumentError)
	from x.rb:7:in '<main>'
`,
      "x.rb:4:in 'Object#f': outer (RuntimeError)\nsecond; caused by x.rb:2:in 'Object#f': inner (ArgumentError)",
    ],
    [
      "Ruby",
      `x.rb:1:in \`<main>': undefined method \`foo' for nil:NilClass (NoMethodError)

nil.foo
   ^^^^
`,
      "x.rb:1:in `<main>': undefined method `foo' for nil:NilClass (NoMethodError)",
    ],
    [
      "Ruby 3.1",
      `b.rb:4:in \`rescue in f': outer (RuntimeError)
second
	from b.rb:1:in \`f'
	from b.rb:6:in \`<main>'
b.rb:2:in \`f': inner (ArgumentError)
	from b.rb:6:in \`<main>'
`,
      "b.rb:4:in `rescue in f': outer (RuntimeError)\nsecond; caused by b.rb:2:in `f': inner (ArgumentError)",
    ],
    [
      "Ruby 3.1",
      "d.rb:1: syntax error, unexpected end-of-input, expecting ')'\ndef f(\n      ^\n",
      "d.rb:1: syntax error, unexpected end-of-input, expecting ')'",
    ],
    [
      "Ruby 3.1",
      `g.rb:1:in \`f': stack level too deep (SystemStackError)
	from g.rb:1:in \`f'
	from g.rb:1:in \`f'
	 ... 10908 levels...
	from g.rb:1:in \`f'
	from g.rb:1:in \`<main>'
`,
      "g.rb:1:in `f': stack level too deep (SystemStackError)",
    ],
    [
      "Rust 1.63",
      `thread 'main' panicked at 'index out of bounds: the len is 1 but the index is 6', a.rs:1:39
stack backtrace:
   0: rust_begin_unwind
             at /usr/src/rustc-1.63.0/library/std/src/panicking.rs:584:5
   1: <usize as core::slice::index::SliceIndex<[T]>>::index
   2: a::main
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.
`,
      "thread 'main' panicked at 'index out of bounds: the len is 1 but the index is 6', a.rs:1:39",
    ],
    [
      "rustc 1.63",
      `error[E0308]: mismatched types
 --> d.rs:1:26
  |
1 | fn main() { let x: i32 = "a"; }
  |                    ---   ^^^ expected \`i32\`, found \`&str\`
  |                    |
  |                    expected due to this

error: aborting due to previous error

For more information about this error, try \`rustc --explain E0308\`.
`,
      "error[E0308]: mismatched types",
    ],
    [
      "Rust",
      `thread 'main' panicked at src/main.rs:2:5:
no disk
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace
`,
      "thread 'main' panicked at src/main.rs:2:5:\nno disk",
    ],
    [
      ".NET",
      `Unhandled exception. System.InvalidOperationException: outer
 ---> System.IO.IOException: no disk
   at Program.F() in /tmp/x/Program.cs:line 5
   --- End of inner exception stack trace ---
   at Program.Main() in /tmp/x/Program.cs:line 9
`,
      "System.InvalidOperationException: outer; caused by System.IO.IOException: no disk",
    ],
    [
      "PHP",
      `PHP Fatal error:  Uncaught RuntimeException: no disk in /tmp/x.php:3
Stack trace:
#0 /tmp/x.php(5): f()
#1 {main}
  thrown in /tmp/x.php on line 3
`,
      "PHP Fatal error:  Uncaught RuntimeException: no disk in /tmp/x.php:3",
    ],
    [
      "PHP 8.2",
      `PHP Warning:  Undefined variable $x in /tmp/b.php on line 1
PHP Fatal error:  Uncaught LogicException: inner in /tmp/b.php:2
Stack trace:
#0 /tmp/b.php(3): f()
#1 {main}

Next RuntimeException: outer
second in /tmp/b.php:2
Stack trace:
#0 /tmp/b.php(3): f()
#1 {main}
  thrown in /tmp/b.php on line 2
`,
      "RuntimeException: outer\nsecond in /tmp/b.php:2; caused by LogicException: inner in /tmp/b.php:2",
    ],
    [
      "PHP 8.2",
      "Parse error: Unclosed '(' on line 1 in /tmp/d.php on line 2\n",
      "Parse error: Unclosed '(' on line 1 in /tmp/d.php on line 2",
    ],
    [
      "Java",
      `Error: Could not find or load main class X
Caused by: java.lang.ClassNotFoundException: X
`,
      "Error: Could not find or load main class X; caused by java.lang.ClassNotFoundException: X",
    ],
    [
      "a Python group",
      `  + Exception Group Traceback (most recent call last):
  |   File "/tmp/x.py", line 1, in <module>
  |     raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])
  | ExceptionGroup: many (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | TypeError: b
    +------------------------------------
`,
      "ExceptionGroup: many (2 sub-exceptions)",
    ],
    ["make", "cc: x.c: No such file\nmake: *** [Makefile:2: all] Error 1\n", "cc: x.c: No such file"],
    ["cut off frames", "\n    at f (/a.js:1:2)\n    at g (/a.js:1:2)\nfatal: no disk\n", "fatal: no disk"],
    ["nothing", "\n \n", null],
  ])("%s (%#)", (_runtime, text, expected) => {
    expect(errorMessage(text)).toBe(expected);
  });
});

test("the message of a command is not the output of one that ran before it", () => {
  const capture = new StreamCapture(secretForms([]), () => undefined);
  for (const text of ["Error: first\n", ""]) {
    capture.beginProcess();
    capture.push(Buffer.from(text));
    capture.endOfProcess();
    expect(capture.errorMessage()).toBe(text === "" ? null : "Error: first");
  }
});

test("a flood of any such lines is read in linear time", () => {
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
  ]) {
    const flood = `${line}\n`.repeat(Math.ceil((192 * 1024) / (line.length + 1)));
    const begin = performance.now();
    errorMessage(flood);
    errorMessage(`\n${flood}`);
    expect(performance.now() - begin, line).toBeLessThan(3000);
  }
});
