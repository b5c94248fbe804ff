import { createHash, randomBytes } from "node:crypto";
import { type Runner, statement } from "@/lib/db";
import { cutCharacters } from "@/lib/text/cut-characters";
import { cookieNames, cookieValues } from "./cookies";

export const SESSION_IDLE_SECONDS = 30 * 60;
export const SESSION_ABSOLUTE_SECONDS = 12 * 3600;
export const SESSIONS_PER_USER = 10;

/** The form of a session id: 256 random bits in base64url. */
export const SESSION_ID = /^[A-Za-z0-9_-]{43}$/;

export interface ClientInfo {
  readonly ip: string | null;
  readonly userAgent: string | null;
}

/**
 * Returns the session id in a Cookie header. Returns null, which means not signed in, if there is no id, more than one,
 * or one of another form.
 */
export function sentSessionId(cookies: string | null, origin: string): string | null {
  const [id, ...more] = cookieValues(cookies, cookieNames(origin).session);
  return id !== undefined && more.length === 0 && SESSION_ID.test(id) ? id : null;
}

/** Returns the hash under which a session is stored. */
export function sessionHash(sessionId: string): Buffer {
  return createHash("sha256").update(sessionId).digest();
}

const insertSession = statement(
  "auth_insert_session",
  `insert into app.sessions (id_hash, user_id, idle_expires_at, absolute_expires_at, ip, user_agent)
   values ($1, $2, app.now() + make_interval(secs => $3), app.now() + make_interval(secs => $4), $5, $6)`,
);

// Deletes the oldest, so that a user who signs in on an eleventh device is not locked out.
const dropOldestSessions = statement(
  "auth_drop_oldest_sessions",
  `delete from app.sessions where user_id = $1 and id_hash in (
     select id_hash from app.sessions where user_id = $1 order by created_at desc, id_hash offset $2)`,
);

/** Opens a session and returns its id, which is stored nowhere. Keeps at most ten sessions per user. */
export async function openSession(db: Runner, userId: string, client: ClientInfo): Promise<string> {
  const sessionId = randomBytes(32).toString("base64url");
  const userAgent = client.userAgent ? cutCharacters(client.userAgent, 500) : null;
  await db.run(insertSession, [
    sessionHash(sessionId),
    userId,
    SESSION_IDLE_SECONDS,
    SESSION_ABSOLUTE_SECONDS,
    client.ip,
    userAgent,
  ]);
  await db.run(dropOldestSessions, [userId, SESSIONS_PER_USER]);
  return sessionId;
}

const revokeOne = statement(
  "auth_revoke_session",
  "update app.sessions set revoked_at = app.now() where id_hash = $1 and revoked_at is null returning user_id",
);

/** Revokes a session at once, on every server. Returns the user's id, or null when the session was not open. */
export async function revokeSession(db: Runner, sessionId: string): Promise<string | null> {
  if (!SESSION_ID.test(sessionId)) return null;
  const [row] = await db.run<{ user_id: string }>(revokeOne, [sessionHash(sessionId)]);
  return row?.user_id ?? null;
}

const liveSession = statement(
  "auth_live_session",
  `select 1 from app.sessions s join app.users u on u.id = s.user_id
   where s.id_hash = $1 and s.revoked_at is null and s.idle_expires_at > app.now()
     and s.absolute_expires_at > app.now() and u.disabled_at is null`,
);

/** Returns true if a session id is valid at this moment. */
export async function isSessionLive(db: Runner, sessionId: string): Promise<boolean> {
  return SESSION_ID.test(sessionId) && (await db.run(liveSession, [sessionHash(sessionId)])).length === 1;
}
