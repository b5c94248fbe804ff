/**
 * Returns the path of the login for a visitor of this page who is not signed in. The login leads back to the page, or to the
 * start page of its tenant or of the platform. The only place that decides this: the front asks before anything is rendered,
 * the pages ask once a session turns out to be over.
 */
export function loginPath(page: string): string {
  return `/login?callbackUrl=${encodeURIComponent(wayBack(page))}`;
}

function wayBack(page: string): string {
  const [tenant] = /^\/t\/[^/]+/.exec(page) ?? [];
  if (tenant !== undefined) return `${tenant}/jobs`;
  return /^\/platform(?:\/|$)/.test(page) ? "/platform/workers" : page;
}
