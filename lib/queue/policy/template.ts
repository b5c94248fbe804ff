import type { Problem } from "../types";
import { escapePointer } from "./payload-check";
import { parseResultPath } from "./result-path";

/** A piece of a rendered value: text as it stands, or what a parent left. */
export type TemplatePart =
  | { readonly text: string }
  | { readonly name: string; readonly steps: readonly string[]; readonly default?: unknown };

/** Where a value goes in a payload. `whole` keeps the value's type; otherwise the parts are joined to a text. */
export interface Binding {
  readonly at: readonly string[];
  readonly whole: boolean;
  readonly parts: readonly TemplatePart[];
}

const MAX_BINDINGS = 1000;
const MAX_ENDS = 200;
const PLACEHOLDER = /^parents\.([A-Za-z0-9_-]{1,100})(?:\.([^|\s]+))?\s*(?:\|\s*default:([\s\S]+))?$/;

interface Visit {
  readonly value: unknown;
  readonly at: readonly string[];
}

/**
 * Finds the placeholders of a payload, `{{parents.<name>.result.<path> | default: <JSON>}}` or `.status`, and where
 * their values go. `edges` says by which edge a parent's name is known. Only values are looked at, never keys.
 * Answers the bindings, or what is wrong with them by pointer into the payload. `{{"text"}}` stands for the text itself.
 */
export function compileTemplate(
  payload: unknown,
  edges: ReadonlyMap<string, number>,
): { readonly bindings: Binding[]; readonly problems: Problem[] } {
  const bindings: Binding[] = [];
  const problems: Problem[] = [];
  const todo: Visit[] = [{ value: payload, at: [] }];
  for (let visit = todo.pop(); visit !== undefined && problems.length < 10; visit = todo.pop()) {
    const { value, at } = visit;
    if (typeof value === "string") addBinding(value, at, edges, { bindings, problems });
    else if (value !== null && typeof value === "object")
      // The entries of a list are named by their indexes.
      for (const [key, item] of Object.entries(value)) todo.push({ value: item, at: [...at, key] });
  }
  if (bindings.length > MAX_BINDINGS)
    problems.push({ pointer: "", code: "template", detail: `has more than ${MAX_BINDINGS} placeholders` });
  return { bindings, problems };
}

function addBinding(
  text: string,
  at: readonly string[],
  edges: ReadonlyMap<string, number>,
  into: { readonly bindings: Binding[]; readonly problems: Problem[] },
): void {
  if (!text.includes("{{")) return;
  const parts = splitText(text, edges);
  if (typeof parts === "string") {
    const pointer = at.map((step) => `/${escapePointer(step)}`).join("");
    into.problems.push({ pointer, code: "template", detail: parts });
    return;
  }
  into.bindings.push({ at, whole: parts.length === 1 && "name" in (parts[0] ?? {}), parts });
}

/** The parts of a text with placeholders, or what is wrong with it. */
function splitText(text: string, edges: ReadonlyMap<string, number>): TemplatePart[] | string {
  const parts: TemplatePart[] = [];
  let rest = text;
  for (let start = rest.indexOf("{{"); start >= 0; start = rest.indexOf("{{")) {
    if (start > 0) parts.push({ text: rest.slice(0, start) });
    const found = readPlaceholder(rest, start + 2, edges);
    if (typeof found === "string") return found;
    parts.push(found.part);
    rest = rest.slice(found.end + 2);
  }
  if (rest.length > 0) parts.push({ text: rest });
  return parts;
}

/** A default may hold }} itself, so the placeholder ends at the first }} that makes sense of it. */
function readPlaceholder(
  text: string,
  from: number,
  edges: ReadonlyMap<string, number>,
): { readonly part: TemplatePart; readonly end: number } | string {
  const close = /"(?:[^"\\]|\\.)*"|\}(?=\})/gs;
  close.lastIndex = from;
  let fault = "has {{ without }}";
  let tries = 0;
  for (let match = close.exec(text); match !== null && tries < MAX_ENDS; match = close.exec(text)) {
    if (match[0] !== "}") continue;
    const part = parsePlaceholder(text.slice(from, match.index).trim(), edges);
    if (typeof part !== "string") return { part, end: match.index };
    if (tries === 0) fault = part;
    tries += 1;
  }
  return fault;
}

function parsePlaceholder(inner: string, edges: ReadonlyMap<string, number>): TemplatePart | string {
  if (inner.startsWith('"')) {
    const literal = parseJson(inner);
    return typeof literal?.value === "string" ? { text: literal.value } : "has a text in {{ }} that is not JSON";
  }
  const match = PLACEHOLDER.exec(inner);
  if (!match) return "has a placeholder that is not {{parents.<name>.result…}} or {{parents.<name>.status}}";
  const [, name = "", path = "", fallback] = match;
  const edge = edges.get(name);
  if (edge === undefined) return `names a parent that is not in depends_on: ${name}`;
  const steps = parseResultPath(path);
  if (!steps) return "has a path that is not status, or result followed by .name and [index] steps";
  const part = { name: `parents.${name}.${path}`, steps: [`${edge}`, ...steps] };
  if (fallback === undefined) return part;
  const value = parseJson(fallback);
  return value ? { ...part, default: value.value } : "has a default that is not JSON";
}

function parseJson(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}
