/** Returns keys that are stored as the same text, because PostgreSQL stores no lone surrogate; up to four million. */
export const equalKey = (n: number): string => String.fromCharCode(0xd800 + (n % 2000), 0xd800 + Math.floor(n / 2000));

/**
 * Returns an object in which half of the keys are stored as the same text. The other half has the names that numbering
 * would use to make the equal keys unique.
 */
export function withEqualKeys(count: number): Record<string, number> {
  const half = Math.floor(count / 2);
  const number = (n: number) => (n % 2 === 0 ? 2 : half) + Math.floor(n / 2);
  const taken = Array.from({ length: half }, (_, n) => `\ufffd\ufffd (${number(n)})`);
  const equal = Array.from({ length: half }, (_, n) => equalKey(n));
  return Object.fromEntries([...taken, ...equal].map((key) => [key, 0]));
}
