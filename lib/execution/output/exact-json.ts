import { scanJson, scanJsonInTurns } from "@/lib/contract/scan-json";
import { quoteInexactNumbers } from "@/lib/text/exact-numbers";
import { isNotJson, NUMBERS_AS_TEXT, type ReportChange } from "./clean-result";

/**
 * Parses JSON without rounding: a number that a double cannot hold becomes the text of its digits. `report` gets that,
 * and keys that appear twice, of which the last one counts.
 * @throws SyntaxError
 */
export function parseCaptured(text: string, report: ReportChange): unknown {
  const value = JSON.parse(text) as unknown;
  if (text.includes('"') && scanJson(text, Number.POSITIVE_INFINITY).some(isDuplicateKey)) report(KEY_TWICE);
  const quoted = quoteInexactNumbers(text);
  return quoted === text ? value : parseQuoted(quoted, report);
}

/** Like `parseCaptured`, but awaits `pause` between its parts, so that a long text does not block the event loop. */
export async function parseCapturedInTurns(
  text: string,
  report: ReportChange,
  pause: () => Promise<void>,
): Promise<unknown> {
  const value = JSON.parse(text) as unknown;
  await pause();
  if (text.includes('"')) await reportRepeatedKeys(text, report, pause);
  await pause();
  const quoted = quoteInexactNumbers(text);
  await pause();
  return quoted === text ? value : parseQuoted(quoted, report);
}

/**
 * Reports keys that appear twice, unless ten other problems come first. @throws MalformedJson
 */
export async function reportRepeatedKeys(
  text: string,
  report: ReportChange,
  pause: () => Promise<void>,
): Promise<void> {
  const problems = await scanJsonInTurns(text, pause, Number.POSITIVE_INFINITY);
  if (problems.some(isDuplicateKey)) report(KEY_TWICE);
}

const KEY_TWICE = "a key appears twice, and its last value is kept";
const isDuplicateKey = ({ code }: { readonly code: string }): boolean => code === "duplicate-key";

function parseQuoted(quoted: string, report: ReportChange): unknown {
  report(NUMBERS_AS_TEXT);
  return JSON.parse(quoted) as unknown;
}

/**
 * Returns a value as it reads after being stored as JSON, so that the first reader sees the same as later ones. A Date
 * becomes its ISO text and an undefined property is dropped.
 * @throws TypeError for a value that JSON would change: NaN, a bigint, a Map, a function, undefined in a list, a cycle
 */
export function asExactJson(value: unknown): unknown {
  if (value === undefined) return null;
  const text = JSON.stringify(value, function replace(this: unknown, key: string, json: unknown) {
    const fault = faultOf(json, this as Record<string, unknown>, key);
    if (fault !== null) throw new TypeError(`${fault} is not JSON (${key === "" ? "the value" : key})`);
    return json;
  });
  return JSON.parse(text) as unknown;
}

/** @param holder the object or list that has the value under `key`, before `toJSON` */
function faultOf(value: unknown, holder: Record<string, unknown>, key: string): string | null {
  const own = holder[key];
  if (typeof value === "number") return Number.isFinite(value) ? null : String(value);
  if (value === undefined) return Array.isArray(holder) ? "undefined" : null;
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (own instanceof Date && Number.isNaN(own.getTime())) return "a Date without a time";
  if (typeof value === "object" && value !== null && isNotJson(value)) return `a ${value.constructor.name}`;
  return null;
}
