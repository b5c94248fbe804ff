import { MASK, maskPatterns } from "./patterns";

const WORDS = ["password", "passwd", "passphrase", "pwd", "secret", "token", "authorization", "credential"];
const PAIRS = ["api key", "private key", "access key", "secret key"];

const capital = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
const joined = (pair: string) => pair.replace(/ (.)/, (_whole, next: string) => `[-_]?[${next}${next.toUpperCase()}]`);

// A name has word boundaries, so `secretary`, `passwordless` and `token_count` are no secrets; a capital begins a word
// inside a name (`dbPassword`).
const LOWER = [...WORDS, ...PAIRS.map(joined)];
const UPPER = [...WORDS, ...PAIRS.map((pair) => pair.replace(" ", "[-_]?")), "pgpassword"].map((word) =>
  word.toUpperCase(),
);
const NAME = `(?:(?<![A-Za-z0-9])(?:${[...LOWER, ...UPPER].join("|")})|(?<![A-Z])(?:${LOWER.map(capital).join("|")}))`;

/** Messages that programs print after a file name: a path that ends in `secret` is not a secret. */
const COMPLAINTS = [
  "Permission denied",
  "Operation not permitted",
  "No such file or directory",
  "(?:Is|Not) a directory",
  "File (?:exists|name too long)",
  "Read-only file system",
  "Too many (?:open files|levels of symbolic links)",
  "Input/output error",
  "(?:command )?not found",
  "cannot (?:open|access|read|stat)",
].join("|");

// Every quantifier is bounded. Group 1 stays.
const NAMED = new RegExp(
  `(${NAME}[0-9]{0,3}(?![A-Za-z0-9_-])\\\\?["']?[ \\t]{0,4}[:=][ \\t]{0,4})` +
    `(?!(?:${COMPLAINTS})(?![^\\s,.;:)"'\\]]))` +
    `(?:\\\\?"[^"\\r\\n]{1,2048}"|'[^'\\r\\n]{1,2048}'|(?!(?:Bearer|Basic)[ \\t])[^\\s,;&"'{}\\[\\]]{1,2048})`,
  "g",
);
const SCHEME = /(\b(?:Bearer|Basic)[ \t]{1,4})[A-Za-z0-9._~+/=-]{8,4096}/gi;
const URL_LOGIN = /(:\/\/[^\s:@/]{0,128}:)[^\s@/]{1,512}(?=@)/g;
const DOTTED = /[A-Za-z0-9_.-]+/g;

/**
 * Masks likely credentials: `password=…`, logins in URLs, bearer values, JWT-like text. This is a guess, so use it
 * where text is shown, never where text is stored, handed on or hashed. Linear in the length of the text.
 */
export function maskGuesses(text: string): string {
  const masked = maskPatterns(text)
    .replace(NAMED, `$1${MASK}`)
    .replace(SCHEME, `$1${MASK}`)
    .replace(URL_LOGIN, `$1${MASK}`);
  return masked.includes("eyJ") ? masked.replace(DOTTED, maskTokens) : masked;
}

/** {@link maskGuesses} for a text that may be absent. */
export const maskShown = (text: string | null): string | null => (text === null ? null : maskGuesses(text));

// Splits a run of token characters once, so that no text restarts the search again and again.
function maskTokens(run: string): string {
  if (!run.includes("eyJ")) return run;
  const parts = run.split(".");
  const kept: string[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const [header = "", body = ""] = [parts[at], parts[at + 1]];
    const isToken = header.startsWith("eyJ") && header.length > 8 && body.length >= 6 && at + 2 < parts.length;
    kept.push(isToken ? MASK : header);
    if (isToken) at += 2;
  }
  return kept.join(".");
}
