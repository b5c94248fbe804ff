import { credentials } from "@/lib/contract";
import { type Runner, statement } from "@/lib/db";
import type { WaitingLine } from "@/lib/turn-lines";
import { networkOf } from "./address-group";
import { writeAudit } from "./audit";
import { verifyPassword } from "./password";
import { type ClientInfo, openSession } from "./session";

export interface LoginClient extends ClientInfo {
  readonly requestId: string | null;
  /**
   * True if the browser signed in to this account before. Its password check then never queues behind checks of
   * strangers.
   */
  readonly isKnown?: boolean;
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
 * Checks an email and password and opens a session. Returns null for every failure: an unknown account, a disabled
 * account and a wrong password look and cost the same.
 * @throws TooManyWaiting while many checks for the client's network wait
 */
export async function login(
  db: Runner,
  sent: unknown,
  client: LoginClient,
): Promise<{ userId: string; email: string; sessionId: string } | null> {
  const parsed = credentials.safeParse(sent);
  if (!parsed.success) return null;
  const { email, password } = parsed.data;
  const [user] = await db.run<UserRow>(findUser, [email]);
  const matches = await verifyPassword(password, user?.password_hash ?? null, lineOf(email, client));
  if (!user || !matches || user.disabled) {
    await recordLogin(db, client, { userId: user?.id ?? null, success: false });
    return null;
  }
  const sessionId = await openSession(db, user.id, client);
  await recordLogin(db, client, { userId: user.id, success: true });
  return { userId: user.id, email, sessionId };
}

// Known browsers of one account share a line, so one user's many sign-ins do not delay another user's.
const lineOf = (email: string, { ip, isKnown = false }: LoginClient): WaitingLine => ({
  name: isKnown ? email : networkOf(ip),
  first: isKnown,
});

// The typed address is not recorded, because people type their password there.
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
