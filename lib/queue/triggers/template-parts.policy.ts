import { hasInexactNumber } from "@/lib/text/exact-numbers";
import { cutText } from "../clean.policy";
import { checkPayload, escapePointer } from "../enqueue/payload-check.policy";
import type { FieldProblem } from "../types";

/** A parsed placeholder path; `name` is the original text, for messages. */
export interface TemplatePath {
  readonly name: string;
  readonly steps: readonly string[];
}

/** A piece of a rendered value: literal text, or a value to look up. */
export type TemplatePart = { readonly text: string } | (TemplatePath & { readonly default?: unknown });

/** Where a value goes in a template. `whole` keeps the value's type; otherwise the parts are joined to a text. */
export interface Binding {
  readonly at: readonly string[];
  readonly whole: boolean;
  readonly parts: readonly TemplatePart[];
}

/** Parses the path of a placeholder. Returns the problem as text if the path is invalid. */
export type ReadPath = (path: string) => TemplatePath | string;

export interface ScannedTemplate {
  readonly bindings: Binding[];
  readonly problems: FieldProblem[];
}

const MAX_PLACEHOLDERS = 1000;
/** The most characters of the paths to all placeholders together, because each binding stores its whole path. */
const MAX_PLACE_CHARACTERS = 100_000;
/** The most characters of one name or path in a message. */
const SHOWN_CHARACTERS = 200;
const IN_KEY = "has {{ in a key: placeholders are allowed in values only";
const PLACEHOLDER = /^([^|\s]+)\s*(?:\|\s*default:([\s\S]+))?$/;

interface Visit {
  readonly value: unknown;
  readonly at: readonly string[];
}

/**
 * Finds the placeholders of a JSON value, `{{<path> | default: <JSON>}}`, and where their values go. Returns bindings
 * and problems by pointer.
 * `{{"text"}}` stands for the text itself. A placeholder in a key is a problem, because keys are never rendered.
 */
export function scanTemplate(template: unknown, readPath: ReadPath): ScannedTemplate {
  const found: ScannedTemplate = { bindings: [], problems: [] };
  const todo: Visit[] = [{ value: template, at: [] }];
  for (let visit = todo.pop(); visit !== undefined && found.problems.length < 10; visit = todo.pop()) {
    const { value, at } = visit;
    if (typeof value === "string") addBinding(value, at, { readPath, found });
    else if (value !== null && typeof value === "object")
      // The entries of a list are named by their indexes.
      for (const [key, item] of Object.entries(value)) {
        const inside = [...at, key];
        if (key.includes("{{")) found.problems.push({ pointer: pointerTo(inside), code: "template", detail: IN_KEY });
        todo.push({ value: item, at: inside });
      }
  }
  const tooMuch = excessOf(found.bindings);
  if (tooMuch !== null) found.problems.push({ pointer: "", code: "template", detail: tooMuch });
  return found;
}

function excessOf(bindings: readonly Binding[]): string | null {
  const placeholders = bindings.reduce((sum, { parts }) => sum + parts.filter((part) => "name" in part).length, 0);
  if (placeholders > MAX_PLACEHOLDERS || bindings.length > MAX_PLACEHOLDERS)
    return `has more than ${MAX_PLACEHOLDERS} placeholders`;
  const characters = bindings.reduce((sum, { at }) => sum + at.reduce((length, step) => length + step.length, 0), 0);
  return characters > MAX_PLACE_CHARACTERS
    ? `has placeholders under keys that are too long: more than ${MAX_PLACE_CHARACTERS} characters in all`
    : null;
}

/** Returns the JSON pointer of a position for a message, with long names cut. */
export const pointerTo = (at: readonly string[]): string => at.map((step) => `/${escapePointer(shown(step))}`).join("");

/** Returns a name or path of a template, cut for a message. */
export const shown = (text: string): string => cutText(text, SHOWN_CHARACTERS);

function addBinding(
  text: string,
  at: readonly string[],
  { readPath, found }: { readonly readPath: ReadPath; readonly found: ScannedTemplate },
): void {
  if (!text.includes("{{")) return;
  const parts = splitText(text, readPath);
  if (typeof parts === "string") found.problems.push({ pointer: pointerTo(at), code: "template", detail: parts });
  else found.bindings.push({ at, whole: parts.length === 1 && "name" in (parts[0] ?? {}), parts });
}

/** Splits a text with placeholders into parts. Returns the problem as text if it is malformed. */
function splitText(text: string, readPath: ReadPath): TemplatePart[] | string {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let start = text.indexOf("{{"); start >= 0; start = text.indexOf("{{", from)) {
    if (start > from) parts.push({ text: text.slice(from, start) });
    const end = endOfPlaceholder(text, start + 2);
    if (end < 0) return "has {{ without }}";
    const part = parsePlaceholder(text.slice(start + 2, end).trim(), readPath);
    if (typeof part === "string") return part;
    parts.push(part);
    from = end + 2;
  }
  if (from < text.length) parts.push({ text: text.slice(from) });
  return parts;
}

/**
 * Returns the index of the first }} outside the texts and objects of the placeholder's default, or -1. Reads each
 * character once.
 */
function endOfPlaceholder(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      at = endOfJsonText(text, at);
      if (at < 0) return -1;
    } else if (character === "{") depth += 1;
    else if (character === "}" && depth > 0) depth -= 1;
    else if (character === "}" && text[at + 1] === "}") return at;
  }
  return -1;
}

/** Returns the index of the closing quote of a JSON text that opens at `from`, or -1. */
function endOfJsonText(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at;
  }
  return -1;
}

function parsePlaceholder(inner: string, readPath: ReadPath): TemplatePart | string {
  if (inner.startsWith('"')) {
    const literal = parseJson(inner);
    return typeof literal?.value === "string" ? { text: literal.value } : "has a text in {{ }} that is not JSON";
  }
  const match = PLACEHOLDER.exec(inner);
  if (!match) return "has a placeholder that is not {{path}} or {{path | default: JSON}}";
  const path = readPath(match[1] ?? "");
  if (typeof path === "string" || match[2] === undefined) return path;
  const fallback = parseJson(match[2]);
  if (!fallback) return "has a default that is not JSON";
  if (hasInexactNumber(match[2])) return "has a default with a number that cannot be kept exactly; write it as a text";
  const [unstorable] = checkPayload(fallback.value);
  return unstorable ? `has a default that ${unstorable.detail}` : { ...path, default: fallback.value };
}

function parseJson(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}
