import { describe, expect, test } from "vitest";
import { errorMessage } from "./error-lines";

describe("the error of recorded output is the line that describes it", () => {
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
