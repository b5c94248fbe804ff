const LONE_SURROGATES = /\p{Surrogate}/gu;

/** True if a text can be written as UTF-8 without loss. */
export function isWellFormed(text: string): boolean {
  return text.search(LONE_SURROGATES) === -1;
}

/** Replaces halves of characters, which neither UTF-8 nor PostgreSQL can hold, by U+FFFD. */
export function toWellFormed(text: string): string {
  return text.replace(LONE_SURROGATES, "\ufffd");
}
