import { describe, expect, test } from "vitest";
import { splitHidden } from "./hidden-characters";
import { parseTerminalLine, stripTerminal } from "./terminal-text";

describe("UI-01 text of a job is shown and never interpreted", () => {
  test.each([
    ["a hyperlink keeps its text only", "\u001b]8;;javascript:alert(1)\u001b\\x\u001b]8;;\u001b\\", "x"],
    ["a clipboard write is dropped", "a\u001b]52;c;ZXZpbA==\u0007b", "ab"],
    ["an unfinished command swallows the rest of the line", "a\u001b]0;title", "a"],
    ["moves and erasures are dropped", "\u001b[2J\u001b[1;1Hhello\u001b[K", "hello"],
    ["markup is text", "<img src=x onerror=alert(1)></script>", "<img src=x onerror=alert(1)></script>"],
    ["a progress bar shows its last state", "10%\r50%\r99%", "99%"],
    ["a Windows line end is no overwrite", "done\r", "done"],
    ["backspace and bidi override are named", "a\bb\u202ec", "aU+0008bU+202Ec"],
    ["one-byte control sequences are dropped", "\u009b31mred", "red"],
    ["a lone escape is dropped", "x\u001b", "x"],
  ])("%s", (_name, line, shown) => {
    expect(stripTerminal(line)).toBe(shown);
  });

  test("colours become CSS classes", () => {
    expect(parseTerminalLine("\u001b[1;31mbad\u001b[0m ok")).toEqual([
      { text: "bad", hidden: false, className: "ansi-red font-semibold" },
      { text: " ok", hidden: false, className: "" },
    ]);
  });

  test("colours outside the palette are dropped", () => {
    expect(parseTerminalLine("\u001b[38;2;1;2;3mx\u001b[0m")).toEqual([{ text: "x", hidden: false, className: "" }]);
  });

  test("emoji joined by zero-width joiners stay whole", () => {
    expect(splitHidden("👩‍💻")).toEqual([{ text: "👩‍💻", hidden: false }]);
  });
});
