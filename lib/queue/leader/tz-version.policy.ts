/** A version of the IANA time-zone data, such as "2025b"; null = unknown. */
export type TzVersion = string | null;

/** The year, and the letters in their order within it. Unknown versions sort before all others. */
function rankOf(version: TzVersion): readonly [number, number, string] {
  const [, year, letters = ""] = /^(\d{4})([a-z]*)$/.exec(version ?? "") ?? [];
  return year === undefined ? [0, 0, ""] : [Number(year), letters.length, letters];
}

/**
 * Returns true if `one` is older than `other`, by year and letter. An unknown version is older than every known one.
 */
export function isOlderTz(one: TzVersion, other: TzVersion): boolean {
  const [a, b] = [rankOf(one), rankOf(other)];
  if (a[0] !== b[0]) return a[0] < b[0];
  return a[1] === b[1] ? a[2] < b[2] : a[1] < b[1];
}

/** Returns the newest of these versions; null if there is none. */
export const newestTz = (versions: readonly TzVersion[]): TzVersion =>
  versions.reduce((newest, version) => (isOlderTz(newest, version) ? version : newest), null);
