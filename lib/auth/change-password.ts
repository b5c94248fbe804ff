import { type Database, statement } from "@/lib/db";
import { writeAudit } from "./audit";
import type { LoginClient } from "./login";
import { hashPassword, verifyPassword } from "./password";
import { openSession } from "./session";

const storedHash = statement("auth_stored_hash", "select password_hash from app.users where id = $1", {
  repeatable: true,
});

// Replaces only the hash that was checked. Of two concurrent changes, the second finds another hash and is refused.
const storeHash = statement(
  "auth_store_hash",
  `update app.users set password_hash = $2, must_change_password = false, updated_at = app.now()
   where id = $1 and password_hash = $3 returning id`,
);

const revokeAll = statement(
  "auth_revoke_sessions",
  "update app.sessions set revoked_at = app.now() where user_id = $1 and revoked_at is null",
);

export interface PasswordChangeRequest {
  readonly userId: string;
  readonly current: string;
  readonly next: string;
}

/**
 * Sets a new password after checking the current one, revokes every session of the user, and opens a new session.
 * Returns the new session's id. Returns null when the current password is wrong or was changed meanwhile; then only an
 * audit entry is written.
 * @throws RangeError when the new password is too short or too long
 */
export async function changePassword(
  db: Database,
  change: PasswordChangeRequest,
  client: LoginClient,
): Promise<string | null> {
  const [user] = await db.run<{ password_hash: string | null }>(storedHash, [change.userId]);
  const stored = user?.password_hash ?? null;
  const line = { name: change.userId, first: true };
  const matches = await verifyPassword(change.current, stored, line);
  const entry = {
    actorKind: "user" as const,
    actorId: change.userId,
    action: "password.change",
    severity: "medium" as const,
    requestId: client.requestId,
    ip: client.ip,
    userAgent: client.userAgent,
  };
  const hash = matches ? await hashPassword(change.next, line) : null;
  return db.transaction(async (tx) => {
    const changed = hash === null ? [] : await tx.run(storeHash, [change.userId, hash, stored]);
    if (changed.length === 0) {
      await writeAudit(tx, { ...entry, success: false });
      return null;
    }
    await tx.run(revokeAll, [change.userId]);
    await writeAudit(tx, { ...entry, success: true });
    return openSession(tx, change.userId, client);
  });
}
