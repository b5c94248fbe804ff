/**
 * Returns the login path for a visitor of this page without a session. After login, the visitor returns to the page, or
 * to the start page of its tenant or of the platform. Used by the front before a page is rendered, and by pages once a
 * session has ended.
 */
export function loginPath(page: string): string {
  return `/login?callbackUrl=${encodeURIComponent(wayBack(page))}`;
}

function wayBack(page: string): string {
  const [tenant] = /^\/t\/[^/]+/.exec(page) ?? [];
  if (tenant !== undefined) return `${tenant}/jobs`;
  return /^\/platform(?:\/|$)/.test(page) ? "/platform/workers" : page;
}
