/*
 * Text helpers without dependencies: exact JSON numbers (here), safe redirect targets (`safe-path.ts`), unique names
 * (`free-names.ts`) and cutting by characters (`cut-characters.ts`). All run in linear time, because their input is
 * untrusted.
 */

/** Why a double cannot represent a number as written; null when it can. */
export type NumberFault = "too-large" | "too-small" | "too-many-digits" | null;

/** Number of digits that a double always preserves. */
const EXACT_LENGTH = 15;
// Shorter texts without an exponent are always exact, so most JSON needs no further check.
const SUSPICIOUS = /[0-9][0-9.]{14}|[0-9][eE]/;
const NUMBER_CHARACTERS = /[0-9.eE+-]*/y;

/**
 * Compares a JSON number as written with its double. Another spelling of the same value (`1.0`, `1E5`, `-0`) is exact.
 * Integers beyond ±(2^53 − 1) are not, because neighboring integers would become the same double.
 */
export function faultOfNumber(text: string): NumberFault {
  const value = Number(text);
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return "too-large";
  if (value === 0) return /[1-9]/.test(text.split(/[eE]/)[0] ?? "") ? "too-small" : null;
  const isHeld = text.length <= EXACT_LENGTH || decimalOf(text) === decimalOf(String(value));
  return isHeld ? null : "too-many-digits";
}

/** Returns true if a valid JSON text has a number that a double cannot represent. Linear. */
export const hasInexactNumber = (json: string): boolean => quoteInexactNumbers(json) !== json;

/**
 * Returns a valid JSON text in which each number that a double cannot represent is a JSON string of its characters.
 * Linear.
 */
export function quoteInexactNumbers(json: string): string {
  if (!SUSPICIOUS.test(json)) return json;
  const parts: string[] = [];
  let copied = 0;
  for (let at = 0; at < json.length; at += 1) {
    const char = json.charCodeAt(at);
    if (char === 0x22) at = endOfString(json, at);
    else if (char === 0x2d || (char >= 0x30 && char <= 0x39)) {
      NUMBER_CHARACTERS.lastIndex = at;
      const number = NUMBER_CHARACTERS.exec(json)?.[0] ?? "";
      if (faultOfNumber(number) !== null) {
        parts.push(json.slice(copied, at), `"${number}"`);
        copied = at + number.length;
      }
      at += number.length - 1;
    }
  }
  return copied === 0 ? json : `${parts.join("")}${json.slice(copied)}`;
}

/** Returns the position of the quotation mark that ends the string beginning at `start`. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end === -1 ? json.length : end;
}

function isEscaped(json: string, at: number): boolean {
  let slashes = 0;
  while (json.charCodeAt(at - 1 - slashes) === 0x5c) slashes += 1;
  return slashes % 2 === 1;
}

/** Returns the digits and the exponent of a number as written, so that 1.50, 15e-1 and 1.5 are equal. */
function decimalOf(text: string): string {
  const [mantissa = "", exponent = "0"] = text.replace(/^-/, "").toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const kept = withoutZerosAtEnd(digits);
  return `${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

/** Linear: `/0+$/` would start over at every zero of a long run that another digit follows. */
function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end -= 1;
  return digits.slice(0, end);
}
