import Anser from "anser";
import { splitHidden, type TextPart } from "./hidden-characters";

export interface TerminalSpan extends TextPart {
  /** Classes for the sixteen terminal colors, bold and the like; never a style that the job chose. */
  readonly className: string;
}

const ESC = "\u001b";
// Operating system commands (window titles, clipboard, hyperlinks) and the like, up to their end or the end of the
// line.
const STRINGS = new RegExp(
  `(?:${ESC}[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007${ESC}\u009c]*(?:\u0007|${ESC}\\\\|\u009c)?`,
  "gu",
);
const CONTROL = new RegExp(`(?:${ESC}\\[|\u009b)([0-?]*[ -/]*)([@-~])`, "gu");
const OTHER_ESCAPES = new RegExp(`${ESC}(?!\\[[0-9;]*m)[ -/]*[0-~]?`, "gu");

const MODES: Readonly<Record<string, string>> = {
  bold: "font-semibold",
  dim: "opacity-80",
  italic: "italic",
  underline: "underline",
  strikethrough: "line-through",
};

/**
 * Parses a terminal line to text with colors. Sequences with an effect (move, erase, link, set a title or the
 * clipboard) are dropped; their visible text is kept. A line overwritten by carriage returns shows its last state.
 */
export function parseTerminalLine(line: string): TerminalSpan[] {
  const settled = lastOverwrite(line);
  if (!settled.includes(ESC) && !/[\u0080-\u009f]/u.test(settled)) {
    return spansOf(settled, "");
  }
  return Anser.ansiToJson(keepColours(settled), { use_classes: true, json: true, remove_empty: true }).flatMap(
    (entry) => spansOf(entry.content, classesOf(entry)),
  );
}

// Completes the parts instead of copying them, because a line may have as many as it has characters.
const spansOf = (text: string, className: string): TerminalSpan[] =>
  splitHidden(text).map((part) => Object.assign(part, { className }));

/** Returns the same line as plain text. */
export function stripTerminal(line: string): string {
  return parseTerminalLine(line)
    .map((span) => span.text)
    .join("");
}

function lastOverwrite(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}

function keepColours(line: string): string {
  return line
    .replace(STRINGS, "")
    .replace(CONTROL, (_whole, parameters: string, final: string) =>
      final === "m" && /^[0-9;]*$/u.test(parameters) ? `${ESC}[${parameters}m` : "",
    )
    .replace(OTHER_ESCAPES, "");
}

function classesOf(entry: { fg: string | null; decorations: readonly string[] }): string {
  const colour = /^ansi-(?:bright-)?(?:black|red|green|yellow|blue|magenta|cyan)$/u.test(entry.fg ?? "")
    ? entry.fg
    : "";
  const modes = entry.decorations.map((decoration) => MODES[decoration] ?? "");
  return [colour, ...modes].filter(Boolean).join(" ");
}
