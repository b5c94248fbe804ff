import { type Database, statement } from "@/lib/db";
import { writeAudit } from "./audit";
import type { LoginClient } from "./login";
import { hashPassword, verifyPassword } from "./password";
import { openSession } from "./session";

const storedHash = statement("auth_stored_hash", "select password_hash from app.users where id = $1", {
  repeatable: true,
});

const storeHash = statement(
  "auth_store_hash",
  "update app.users set password_hash = $2, must_change_password = false, updated_at = app.now() where id = $1",
);

const revokeAll = statement(
  "auth_revoke_sessions",
  "update app.sessions set revoked_at = app.now() where user_id = $1 and revoked_at is null",
);

export interface PasswordChange {
  readonly userId: string;
  readonly current: string;
  readonly next: string;
}

/**
 * Sets a new password after checking the present one, ends every session of the user and opens a new one, whose id it
 * answers. Null when the present password is wrong; nothing but a line in the audit is written then.
 * @throws RangeError when the new password is too short or too long
 */
export async function changePassword(
  db: Database,
  change: PasswordChange,
  client: LoginClient,
): Promise<string | null> {
  const [user] = await db.run<{ password_hash: string | null }>(storedHash, [change.userId]);
  const matches = await verifyPassword(change.current, user?.password_hash ?? null);
  const entry = {
    actorKind: "user" as const,
    actorId: change.userId,
    action: "password.change",
    severity: "medium" as const,
    requestId: client.requestId,
    ip: client.ip,
    userAgent: client.userAgent,
  };
  if (!matches) {
    await writeAudit(db, { ...entry, success: false });
    return null;
  }
  const hash = await hashPassword(change.next);
  return db.transaction(async (tx) => {
    await tx.run(storeHash, [change.userId, hash]);
    await tx.run(revokeAll, [change.userId]);
    await writeAudit(tx, { ...entry, success: true });
    return openSession(tx, change.userId, client);
  });
}
