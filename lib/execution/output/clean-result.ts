import { FreeNames } from "@/lib/text/free-names";
import type { LogContext } from "../define-job";
import { storable } from "./clean-text";
import { MASK } from "./patterns";
import { redactLiterals, redactText } from "./redactor";
import type { SecretForms } from "./secret-forms";

/** Limit on UTF-8 bytes of the JSON text. */
export const MAX_RESULT_BYTES = 256 * 1024;
const MAX_DEPTH = 32;
const MAX_NODES = 10_000;
const PREVIEW_CHARS = 2000;
/** Change reported for numbers that a double cannot hold. */
export const NUMBERS_AS_TEXT = "numbers that JSON readers would round are kept as texts";
/** Change reported for a result with more values than are kept. */
export const TOO_MANY_VALUES = "values are left out: too many values";
const NOT_JSON = [Map, Set, WeakMap, WeakSet, Promise, ArrayBuffer, RegExp] as const;

/** True for an object whose content JSON.stringify would lose without an error. */
export const isNotJson = (value: object): boolean =>
  NOT_JSON.some((type) => value instanceof type) || ArrayBuffer.isView(value);

/** Receives one sentence for each way in which the stored value differs from the given one; each once. */
export type ReportChange = (change: string) => void;

/** Returns a function that reports changes of a result in the attempt's log. */
export function reportTo(ctx: { onLog(level: "warn", text: string): void }): ReportChange {
  return (change) => ctx.onLog("warn", changeLine(change));
}

/**
 * Cleans the context of a log line like a result. `changes` are log lines about the changes, one per kind that is not
 * in `said` yet, because a loop may log the same value many times.
 */
export function cleanContext(
  context: LogContext,
  secrets: SecretForms,
  said: Set<string>,
): { readonly cleaned: LogContext; readonly changes: readonly string[] } {
  const changes: string[] = [];
  const cleaned = cleanResult(context, secrets, (change) => {
    if (!said.has(change))
      changes.push(`The context of the line above was changed: ${change}. Further changes are not logged.`);
    said.add(change);
  });
  return { cleaned: cleaned as LogContext, changes };
}

/** Returns the log line that reports a change. */
export const changeLine = (change: string): string => `The result was changed: ${change}.`;

interface Cleaning {
  readonly secrets: SecretForms;
  readonly changes: Set<string>;
  readonly most: number;
  nodes: number;
}

/**
 * Converts a job's result to JSON that can be stored exactly, except that known secrets are masked. Never throws:
 * values that JSON cannot hold are replaced (a bigint by its text, NaN by null, a cycle by a note), and a result that
 * is too large by a preview. `report` gets each kind of change. As in JSON.stringify, a Date becomes its ISO text and
 * an undefined property is dropped; neither is reported.
 */
export function cleanResult(value: unknown, secrets: SecretForms, report?: ReportChange): unknown {
  if (value === undefined || value === null) return null;
  const changes = new Set<string>();
  const state = { secrets, changes, most: MAX_NODES, nodes: 0 };
  let cleaned = clean(value, 0, state) ?? null;
  // The note about omitted values counts as a value too: with one too many, nothing of the result would be stored.
  if (state.nodes > MAX_NODES) cleaned = clean(value, 0, { secrets, changes, most: MAX_NODES - 1, nodes: 0 }) ?? null;
  const text = JSON.stringify(cleaned);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_RESULT_BYTES)
    changes.add(`it has ${bytes} bytes of at most ${MAX_RESULT_BYTES}, so a preview is kept`);
  if (report) for (const change of changes) report(change);
  return bytes <= MAX_RESULT_BYTES ? cleaned : previewOf(text, bytes);
}

/** Returns the preview of a result that is too large. */
function previewOf(text: string, bytes: number): { truncated: true; bytes: number; preview: string } {
  return { truncated: true, bytes, preview: copyOf(text.slice(0, PREVIEW_CHARS)) };
}

function clean(value: unknown, depth: number, state: Cleaning): unknown {
  state.nodes += 1;
  if (state.nodes > state.most) return leftOut("too many values", state);
  if (typeof value === "string") return cleanString(value, state);
  if (typeof value === "number") return cleanNumber(value, state);
  if (typeof value === "bigint") return numberAsText(String(value), state);
  if (typeof value === "boolean" || value === null || value === undefined) return value;
  if (typeof value !== "object") return leftOut(`a ${typeof value} is not JSON`, state);
  if (depth >= MAX_DEPTH) return leftOut("too deep", state);
  try {
    return cleanObject(value, depth, state);
  } catch {
    return leftOut("unreadable", state);
  }
}

function leftOut(why: string, { changes }: Cleaning): string {
  changes.add(`values are left out: ${why}`);
  return `[left out: ${why}]`;
}

function cleanString(value: string, { secrets, changes }: Cleaning): string {
  const stored = storable(value);
  if (stored !== value) changes.add("characters that cannot be stored are replaced");
  const masked = redactLiterals(stored, secrets);
  if (masked !== stored) changes.add("secrets are masked");
  return masked;
}

function cleanNumber(value: number, state: Cleaning): unknown {
  if (!Number.isFinite(value)) {
    state.changes.add("numbers that JSON does not have are null");
    return null;
  }
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    // String() rounds the digits of integers up to 1e21.
    return numberAsText(Math.abs(value) < 1e21 ? String(BigInt(Math.trunc(value))) : String(value), state);
  }
  // A secret may be a number; most jobs have no secret at all.
  if (state.secrets.forms.length === 0 || redactLiterals(String(value), state.secrets) === String(value)) return value;
  state.changes.add("secrets are masked");
  return MASK;
}

function numberAsText(digits: string, state: Cleaning): unknown {
  state.changes.add(NUMBERS_AS_TEXT);
  return cleanString(digits, state);
}

function cleanObject(value: object, depth: number, state: Cleaning): unknown {
  if (Array.isArray(value)) return cleanArray(value, depth, state);
  if (value instanceof Error) return cleanString(value.message, state);
  if (isNotJson(value)) return leftOut(`a ${value.constructor.name} is not JSON`, state);
  if (value instanceof Date && Number.isNaN(value.getTime())) return leftOut("a Date without a time", state);
  // A Date, a URL and the like define their own JSON.
  if ("toJSON" in value && typeof value.toJSON === "function") return clean(value.toJSON(), depth + 1, state);
  // Reads no more keys than there may be values.
  const keys = Object.keys(value).slice(0, state.most - state.nodes + 1);
  const stored = storedKeys(keys, state);
  const entries: [string, unknown][] = [];
  for (const [at, key] of keys.entries()) {
    if (state.nodes > state.most) break;
    const cleaned = clean((value as Record<string, unknown>)[key], depth + 1, state);
    if (cleaned !== undefined) entries.push([stored[at] ?? key, cleaned]);
  }
  return Object.fromEntries(entries);
}

/**
 * Returns keys as they are stored. Two keys may be equal once cleaned; the second one gets a number, so that no value
 * is lost.
 */
function storedKeys(keys: readonly string[], state: Cleaning): readonly string[] {
  const cleaned = keys.map((key) => cleanString(key, state));
  if (cleaned.every((key, at) => key === keys[at])) return keys;
  const names = new FreeNames((key, number) => `${key} (${number})`, new Set(cleaned));
  return cleaned.map((key) => names.take(key));
}

function cleanArray(values: readonly unknown[], depth: number, state: Cleaning): unknown[] {
  const cleaned: unknown[] = [];
  for (const item of values) {
    if (state.nodes > state.most) break;
    if (item === undefined) state.changes.add("entries of lists that are undefined are null");
    cleaned.push(clean(item, depth + 1, state) ?? null);
  }
  return cleaned;
}

const MAX_MESSAGE_CHARS = 8000;

/** Returns a storable error text: cleaned, redacted, at most 8,000 characters. */
export function cleanMessage(text: string, secrets: SecretForms): string {
  // Redacted before it is cut, because otherwise half a secret could remain at the end.
  const clean = redactText(storable(text), secrets);
  return clean.length <= MAX_MESSAGE_CHARS
    ? clean
    : `${copyOf(clean.slice(0, MAX_MESSAGE_CHARS - 1)).replace(/\ufffd$/, "")}…`;
}

/**
 * Copies a text; half a character at its end becomes U+FFFD. Unlike a substring, a copy does not keep the whole text in
 * memory.
 */
const copyOf = (part: string): string => Buffer.from(part).toString();
