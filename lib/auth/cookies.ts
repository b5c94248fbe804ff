/**
 * Names of our cookies. With an https origin they are host-bound and Secure; plain names are used only on loopback
 * http.
 */
export interface CookieNames {
  readonly session: string;
  readonly csrf: string;
  readonly callback: string;
  /** Marks a browser that signed in before. */
  readonly device: string;
  readonly secure: boolean;
}

export function cookieNames(origin: string): CookieNames {
  const secure = origin.startsWith("https:");
  const prefix = secure ? "__Host-" : "";
  return {
    session: `${prefix}leasehold.session`,
    csrf: `${prefix}leasehold.csrf`,
    callback: `${prefix}leasehold.callback`,
    device: `${prefix}leasehold.device`,
    secure,
  };
}

/** Returns the Set-Cookie header of a session, as next-auth sets it at login. */
export function sessionCookie(origin: string, sessionId: string, maxAgeSeconds: number): string {
  return setCookie(origin, { name: cookieNames(origin).session, value: sessionId, maxAge: maxAgeSeconds });
}

/** Returns a Set-Cookie header; `maxAge` is in seconds. */
export function setCookie(origin: string, cookie: { name: string; value: string; maxAge: number }): string {
  const secure = cookieNames(origin).secure ? ["Secure"] : [];
  const attributes = ["Path=/", `Max-Age=${cookie.maxAge}`, "HttpOnly", "SameSite=Lax", ...secure];
  return [`${cookie.name}=${cookie.value}`, ...attributes].join("; ");
}

/** Returns all values of a name in a Cookie header. More than one means that a cookie was planted. */
export function cookieValues(header: string | null, name: string): string[] {
  if (!header) return [];
  return header
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}
