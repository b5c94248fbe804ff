/** Keys that are stored as the same text, because PostgreSQL can store no lone surrogate; up to four million. */
export const equalKey = (n: number): string => String.fromCharCode(0xd800 + (n % 2000), 0xd800 + Math.floor(n / 2000));

/** An object of which half of the keys are stored as the same text. The others have names with which a second one could be told apart. */
export function withEqualKeys(count: number): Record<string, number> {
  const half = Math.floor(count / 2);
  const number = (n: number) => (n % 2 === 0 ? 2 : half) + Math.floor(n / 2);
  const taken = Array.from({ length: half }, (_, n) => `\ufffd\ufffd (${number(n)})`);
  const equal = Array.from({ length: half }, (_, n) => equalKey(n));
  return Object.fromEntries([...taken, ...equal].map((key) => [key, 0]));
}
