import { credentials } from "@/lib/contract";
import { type Runner, statement } from "@/lib/db";
import { writeAudit } from "./audit";
import { verifyPassword } from "./password";
import { type ClientInfo, openSession } from "./session";
import { accountBucket, addressBucket, LOGIN_ACCOUNT, LOGIN_ADDRESS, returnToBucket, takeFromBucket } from "./throttle";

export interface LoginClient extends ClientInfo {
  readonly requestId: string | null;
}

interface UserRow extends Record<string, unknown> {
  id: string;
  password_hash: string | null;
  disabled: boolean;
}

const findUser = statement(
  "auth_find_user",
  "select id, password_hash, disabled_at is not null as disabled from app.users where email = $1",
);

/**
 * Takes a token of the address and one of the account; answers 0, or the seconds to wait. Both are given back by a
 * login that succeeds, so only failures are counted.
 */
export async function takeLoginTokens(db: Runner, email: string, ip: string | null): Promise<number> {
  const waits = [
    await takeFromBucket(db, addressBucket(ip), LOGIN_ADDRESS),
    await takeFromBucket(db, accountBucket(email), LOGIN_ACCOUNT),
  ];
  return Math.max(...waits);
}

/** Gives back what takeLoginTokens took, when the password was right. */
export async function returnLoginTokens(db: Runner, email: string, ip: string | null): Promise<void> {
  await returnToBucket(db, addressBucket(ip), LOGIN_ADDRESS);
  await returnToBucket(db, accountBucket(email), LOGIN_ACCOUNT);
}

/**
 * Checks an email and password and opens a session. Null whatever was wrong: an unknown account, a disabled one and a
 * wrong password look and cost the same.
 */
export async function login(
  db: Runner,
  sent: unknown,
  client: LoginClient,
): Promise<{ userId: string; sessionId: string } | null> {
  const parsed = credentials.safeParse(sent);
  if (!parsed.success) return null;
  const { email, password } = parsed.data;
  const [user] = await db.run<UserRow>(findUser, [email]);
  const matches = await verifyPassword(password, user?.password_hash ?? null);
  if (!user || !matches || user.disabled) {
    await recordLogin(db, client, { userId: user?.id ?? null, success: false });
    return null;
  }
  const sessionId = await openSession(db, user.id, client);
  await returnLoginTokens(db, email, client.ip);
  await recordLogin(db, client, { userId: user.id, success: true });
  return { userId: user.id, sessionId };
}

// The address that was typed is not recorded: people type their password there.
async function recordLogin(
  db: Runner,
  client: LoginClient,
  { userId, success }: { userId: string | null; success: boolean },
): Promise<void> {
  await writeAudit(db, {
    actorKind: userId ? "user" : "anonymous",
    actorId: userId,
    action: success ? "login.succeeded" : "login.failed",
    severity: success ? "low" : "medium",
    success,
    requestId: client.requestId,
    ip: client.ip,
    userAgent: client.userAgent,
  });
}
