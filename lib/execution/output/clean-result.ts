import { storable } from "./clean-text";
import { MASK, SECRET_KEY } from "./patterns";
import { redactText } from "./redactor";
import type { SecretForms } from "./secret-forms";

/** UTF-8 bytes of its JSON text. */
export const MAX_RESULT_BYTES = 256 * 1024;
const MAX_DEPTH = 32;
const MAX_NODES = 10_000;
const PREVIEW_CHARS = 2000;

interface Cleaning {
  readonly secrets: SecretForms;
  nodes: number;
}

/**
 * Turns whatever a job answers into JSON that can be stored, with secrets masked. Never throws: what JSON cannot hold
 * is replaced (a bigint by its text, NaN by null, a cycle by a note), and a result that is too large by a preview.
 */
export function cleanResult(value: unknown, secrets: SecretForms): unknown {
  if (value === undefined || value === null) return null;
  const cleaned = clean(value, 0, { secrets, nodes: 0 }) ?? null;
  const text = JSON.stringify(cleaned);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_RESULT_BYTES) return cleaned;
  return { truncated: true, bytes, preview: storable(text.slice(0, PREVIEW_CHARS)) };
}

function clean(value: unknown, depth: number, state: Cleaning): unknown {
  state.nodes += 1;
  if (state.nodes > MAX_NODES) return "[left out: too many values]";
  if (typeof value === "string") return redactText(storable(value), state.secrets);
  if (typeof value === "number") return cleanNumber(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value !== "object") return undefined;
  if (depth >= MAX_DEPTH) return "[left out: too deep]";
  try {
    return cleanObject(value, depth, state);
  } catch {
    return "[left out: unreadable]";
  }
}

function cleanNumber(value: number): unknown {
  if (!Number.isFinite(value)) return null;
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? String(value) : value;
}

function cleanObject(value: object, depth: number, state: Cleaning): unknown {
  if (Array.isArray(value)) return cleanArray(value, depth, state);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Error) return redactText(storable(value.message), state.secrets);
  const entries: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    if (state.nodes > MAX_NODES) break;
    const item = (value as Record<string, unknown>)[key];
    const isSecret = typeof item === "string" && SECRET_KEY.test(key);
    const cleaned = isSecret ? MASK : clean(item, depth + 1, state);
    if (cleaned !== undefined) entries.push([redactText(storable(key), state.secrets), cleaned]);
  }
  return Object.fromEntries(entries);
}

function cleanArray(values: readonly unknown[], depth: number, state: Cleaning): unknown[] {
  const cleaned: unknown[] = [];
  for (const item of values) {
    if (state.nodes > MAX_NODES) break;
    cleaned.push(clean(item, depth + 1, state) ?? null);
  }
  return cleaned;
}

const MAX_MESSAGE_CHARS = 8000;

/** An error text that can be stored: cleaned, redacted, at most 8,000 characters. */
export function cleanMessage(text: string, secrets: SecretForms): string {
  // Redacted before it is cut, or half a secret would remain at the end.
  const clean = redactText(storable(text), secrets);
  return clean.length <= MAX_MESSAGE_CHARS
    ? clean
    : `${storable(clean.slice(0, MAX_MESSAGE_CHARS - 1)).replace(/\ufffd$/, "")}…`;
}
