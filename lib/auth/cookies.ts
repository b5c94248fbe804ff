/** Names of our cookies. With an https origin they are host-bound and Secure; plain names only on loopback http. */
export interface CookieNames {
  readonly session: string;
  readonly csrf: string;
  readonly callback: string;
  readonly secure: boolean;
}

export function cookieNames(origin: string): CookieNames {
  const secure = origin.startsWith("https:");
  const prefix = secure ? "__Host-" : "";
  return {
    session: `${prefix}leasehold.session`,
    csrf: `${prefix}leasehold.csrf`,
    callback: `${prefix}leasehold.callback`,
    secure,
  };
}

/** The Set-Cookie header of a session, as next-auth sets it at login. */
export function sessionCookie(origin: string, sessionId: string, maxAgeSeconds: number): string {
  const { session, secure } = cookieNames(origin);
  const attributes = ["Path=/", `Max-Age=${maxAgeSeconds}`, "HttpOnly", "SameSite=Lax", ...(secure ? ["Secure"] : [])];
  return [`${session}=${sessionId}`, ...attributes].join("; ");
}

/** All values that a Cookie header gives for a name; more than one means that someone planted another. */
export function cookieValues(header: string | null, name: string): string[] {
  if (!header) return [];
  return header
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}
