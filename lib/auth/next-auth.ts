import type { NextAuthOptions } from "next-auth";
import Credentials from "next-auth/providers/credentials";
import type { Runner } from "@/lib/db";
import { pathOnly } from "@/lib/text/safe-path";
import { writeAudit } from "./audit";
import { cookieNames } from "./cookies";
import { type LoginClient, login } from "./login";
import { isSessionLive, revokeSession, SESSION_ABSOLUTE_SECONDS, SESSION_ID } from "./session";

/** The outcome of the callbacks. Kept outside next-auth, which would put an error's text into a redirect. */
export interface SignInOutcome {
  error: unknown;
  /** The account that has just signed in. */
  signedIn: string | null;
}

export interface AuthSettings {
  readonly db: Runner;
  readonly origin: string;
  readonly secret: string;
  readonly log: { warn(fields: object, text: string): void };
}

/**
 * Returns the options that restrict next-auth: its cookie holds only our opaque session id. There are no claims to
 * forge or change, and every decode reads the session's row.
 */
export function authOptions(settings: AuthSettings, client: LoginClient, outcome: SignInOutcome): NextAuthOptions {
  const { db, origin, secret } = settings;
  const keepError = async <T>(work: () => Promise<T | null>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      outcome.error = error;
      return null;
    }
  };
  return {
    secret,
    useSecureCookies: cookieNames(origin).secure,
    session: { strategy: "jwt", maxAge: SESSION_ABSOLUTE_SECONDS },
    pages: { signIn: "/login", error: "/login" },
    providers: [
      Credentials({
        credentials: { email: {}, password: {} },
        authorize: (sent) =>
          keepError(async () => {
            const opened = await login(db, sent, client);
            outcome.signedIn = opened?.email ?? null;
            return opened && { id: opened.userId, sid: opened.sessionId };
          }),
      }),
    ],
    jwt: {
      maxAge: SESSION_ABSOLUTE_SECONDS,
      encode: async ({ token }) => sessionIdOf(token),
      decode: ({ token }) =>
        keepError(async () =>
          token && SESSION_ID.test(token) && (await isSessionLive(db, token)) ? { sid: token } : null,
        ),
    },
    callbacks: {
      jwt: ({ token, user }) => ({ sid: user ? sessionIdOf(user) : sessionIdOf(token) }),
      session: ({ session }) => ({ expires: session.expires }),
      redirect: ({ url, baseUrl }) => pathOnly(url, baseUrl),
    },
    events: {
      signOut: async ({ token }) => {
        await keepError(async () => signOut(db, sessionIdOf(token), client));
      },
    },
    cookies: cookiesOf(origin),
    logger: loggerOf(settings),
  };
}

function loggerOf({ log }: AuthSettings): NextAuthOptions["logger"] {
  return {
    error: (code) => log.warn({ code }, "next-auth refused a request"),
    warn: () => undefined,
    debug: () => undefined,
  };
}

function cookiesOf(origin: string): NextAuthOptions["cookies"] {
  const { session, csrf, callback, secure } = cookieNames(origin);
  const options = { httpOnly: true, sameSite: "lax" as const, path: "/", secure };
  return {
    sessionToken: { name: session, options },
    csrfToken: { name: csrf, options },
    callbackUrl: { name: callback, options },
  };
}

function sessionIdOf(carrier: object | null | undefined): string {
  const sid = carrier && "sid" in carrier ? carrier.sid : undefined;
  return typeof sid === "string" ? sid : "";
}

async function signOut(db: Runner, sessionId: string, client: LoginClient): Promise<null> {
  const userId = await revokeSession(db, sessionId);
  if (!userId) return null;
  await writeAudit(db, {
    actorKind: "user",
    actorId: userId,
    action: "logout",
    success: true,
    requestId: client.requestId,
    ip: client.ip,
    userAgent: client.userAgent,
  });
  return null;
}
