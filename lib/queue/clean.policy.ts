/** Makes captured text storable, because recording a failure must never fail. */

const NUL = String.fromCharCode(0);

/** Replaces characters that Postgres cannot store (NUL, lone surrogates) by U+FFFD. */
export function cleanText(text: string): string {
  return text.replaceAll(NUL, "\ufffd").toWellFormed();
}

/**
 * Cuts a text to `max` UTF-16 units (so never more characters than the column allows), on a code point,
 * marked with "…".
 */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max - 1);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}
