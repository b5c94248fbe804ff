/** What a secret is replaced by. */
export const MASK = "[redacted]";

const KEY_WORDS =
  "pass(?:word|wd|phrase)|secret|token|authorization|api[-_]?key|private[-_]?key|access[-_]?key|credential";

/** What follows the name of a file in the messages of programs: a path that ends in `secret` is no secret. */
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

// Every quantifier is bounded, so no text can make the matching slow. Group 1, where there is one, stays.
const PATTERNS: readonly RegExp[] = [
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{36,255}/g,
  /\bgithub_pat_[A-Za-z0-9_]{22,255}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,250}/g,
  /\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,250}/g,
  /\bAIza[0-9A-Za-z_-]{35}/g,
  /\blhk_[a-z]{2,10}_[A-Za-z0-9_]{20,200}/g,
  /\bwhsec_[A-Za-z0-9+/=]{16,200}/g,
  /\beyJ[A-Za-z0-9_-]{6,4096}\.[A-Za-z0-9_-]{6,8192}\.[A-Za-z0-9_-]{0,2048}/g,
  /(\b(?:Bearer|Basic)[ \t]{1,4})[A-Za-z0-9._~+/=-]{8,4096}/gi,
  /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,128}:)[^\s@/]{1,512}(?=@)/gi,
  new RegExp(
    `((?:${KEY_WORDS})[A-Za-z0-9_-]{0,20}\\\\?["']?[ \\t]{0,4}[:=][ \\t]{0,4})(?!(?:${COMPLAINTS})(?![^\\s,.;:)"'\\]]))` +
      `(?:\\\\?"[^"\\r\\n]{3,2048}"|'[^'\\r\\n]{3,2048}'|(?!(?:Bearer|Basic)[ \\t])[^\\s,;&"'{}\\[\\]]{3,2048})`,
    "gi",
  ),
];

const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
const PEM_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
const PEM_BLOCK =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,65536}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** A property of this name holds a secret, whatever its value looks like. */
export const SECRET_KEY = new RegExp(`(?:${KEY_WORDS}|cookie)s?$`, "i");

/** Masks what looks like a credential by itself: known prefixes, `key=value`, URL passwords, private keys. */
export function maskPatterns(text: string): string {
  let masked = text.includes("-----BEGIN") ? text.replace(PEM_BLOCK, MASK) : text;
  for (const pattern of PATTERNS) {
    masked = masked.replace(pattern, (_whole, kept: unknown) => (typeof kept === "string" ? kept : "") + MASK);
  }
  return masked;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where the patterns match, so that a cut can keep clear of them. */
export function patternSpans(text: string): Span[] {
  return [PEM_BLOCK, ...PATTERNS].flatMap((pattern) =>
    Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length })),
  );
}

/** The start of a private key whose end has not come yet, or -1. */
export function openPrivateKey(text: string): number {
  let from = 0;
  for (;;) {
    const begin = PEM_BEGIN.exec(text.slice(from));
    if (!begin) return -1;
    const start = from + begin.index;
    const end = PEM_END.exec(text.slice(start));
    if (!end) return start;
    from = start + end.index + end[0].length;
  }
}

/** Where a private key that began earlier ends, or -1. */
export function privateKeyEnd(text: string): number {
  const end = PEM_END.exec(text);
  return end ? end.index + end[0].length : -1;
}
