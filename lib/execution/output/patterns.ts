/** The replacement for a secret. */
export const MASK = "[redacted]";

// Forms that only a credential has, so masking them when output is written hides nothing else. Every quantifier is
// bounded, and no match can begin inside a failed one, so the time is linear in the text.
const PATTERNS: readonly RegExp[] = [
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{36,255}/g,
  /\bgithub_pat_[A-Za-z0-9_]{22,255}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,250}/g,
  /\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,250}/g,
  /\bAIza[0-9A-Za-z_-]{35}/g,
  /\blhk_[a-z]{2,10}_[A-Za-z0-9_]{20,200}/g,
  /\bwhsec_[A-Za-z0-9+/=]{16,200}/g,
];

/** The longest text that a pattern matches, in characters. Only a private key is longer. */
export const LONGEST_PATTERN = 270;

const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const PEM_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Masks unmistakable credentials: keys of known providers, Leasehold's own keys, whole private keys. */
export function maskPatterns(text: string): string {
  let masked = text.includes("-----BEGIN") ? maskPrivateKeys(text) : text;
  for (const pattern of PATTERNS) masked = masked.replace(pattern, MASK);
  return masked;
}

function maskPrivateKeys(text: string): string {
  let masked = "";
  let from = 0;
  for (const { start, end } of privateKeys(text).whole) {
    masked += text.slice(from, start) + MASK;
    from = end;
  }
  return masked + text.slice(from);
}

/** Returns where the patterns match, so that a cut can avoid them. */
export function patternSpans(text: string): Span[] {
  const spans = PATTERNS.flatMap((pattern) =>
    Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length })),
  );
  return [...privateKeys(text).whole, ...spans];
}

/** Returns the start of a private key whose end has not arrived yet, or -1. */
export function openPrivateKey(text: string): number {
  return text.includes("-----BEGIN") ? privateKeys(text).open : -1;
}

// One pass: text that was already searched for an end is not searched again.
function privateKeys(text: string): { readonly whole: readonly Span[]; readonly open: number } {
  const whole: Span[] = [];
  const begin = new RegExp(PEM_BEGIN);
  const end = new RegExp(PEM_END);
  for (let opened = begin.exec(text); opened; opened = begin.exec(text)) {
    end.lastIndex = begin.lastIndex;
    const closed = end.exec(text);
    if (!closed) return { whole, open: opened.index };
    whole.push({ start: opened.index, end: end.lastIndex });
    begin.lastIndex = end.lastIndex;
  }
  return { whole, open: -1 };
}

/** Returns where a private key that began earlier ends, or -1. */
export function privateKeyEnd(text: string): number {
  const end = new RegExp(PEM_END);
  return end.test(text) ? end.lastIndex : -1;
}
