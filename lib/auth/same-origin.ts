/**
 * Returns true if a change with a session cookie came from our own pages: `Sec-Fetch-Site: same-origin`, or, from
 * clients without that header, an `Origin` equal to ours. `Origin: null` and requests with neither header return false.
 */
export function isSameOrigin(headers: Headers, origin: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  return headers.get("origin") === origin;
}
