const LONGEST_SECONDS = 604_800;

/**
 * Parses an HTTP Retry-After header, in seconds or as a date. Returns seconds, at least 0 and at most a week, or
 * undefined if the header is not usable. A date counts from `now`, in milliseconds.
 */
export function retryAfter(header: string | null | undefined, now: number = Date.now()): number | undefined {
  const text = header?.trim() ?? "";
  if (text === "") return undefined;
  // Date.parse would also take "-5" for a date; an HTTP date begins with the name of its weekday.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  const seconds = /^\d+$/.test(text) ? Number(text) : (date - now) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), LONGEST_SECONDS);
}
