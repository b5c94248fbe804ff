/**
 * Whether a cookie-bearing request that changes something came from our own pages: `Sec-Fetch-Site: same-origin`, or,
 * from clients without it, an `Origin` equal to ours. `Origin: null` and no evidence at all are refused.
 */
export function isSameOrigin(headers: Headers, origin: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  return headers.get("origin") === origin;
}
