import { type Runner, statement } from "@/lib/db";

/**
 * Channel of notifications about revoked rights; the payload is the user's id, or `*`. Database triggers send them, so
 * no statement that revokes rights can skip them.
 */
export const ACCESS_CHANNEL = "leasehold_access";

const STANDING = `concat_ws(' ', u.is_super_admin, u.must_change_password, (
    select string_agg(concat_ws(' ', m.tenant_id, m.role, t.status), ' ' order by m.tenant_id)
    from app.memberships m join app.tenants t on t.id = m.tenant_id where m.user_id = u.id))`;

const marksSql = statement(
  "auth_access_marks",
  `select encode(s.id_hash, 'hex') as credential, ${STANDING} as mark
   from app.sessions s join app.users u on u.id = s.user_id
   where s.id_hash = any ($1::bytea[]) and s.revoked_at is null and s.idle_expires_at > app.now()
     and s.absolute_expires_at > app.now() and u.disabled_at is null
   union all
   select k.id::text, ${STANDING} || k.scopes::text
   from app.api_keys k join app.users u on u.id = k.created_by
   where k.id = any ($2::uuid[]) and k.revoked_at is null and k.expires_at > app.now() and u.disabled_at is null`,
);

/** Sessions by the hex of their hash, keys by their id. */
export interface MarkedCredentials {
  readonly sessions: readonly string[];
  readonly keys: readonly string[];
}

/**
 * Returns a mark for each valid credential: a text that changes whenever its rights change. Runs one statement, which
 * does not keep sessions from going idle.
 */
export async function accessMarks(db: Runner, { sessions, keys }: MarkedCredentials): Promise<Map<string, string>> {
  const hashes = sessions.map((hex) => Buffer.from(hex, "hex"));
  const rows = await db.run<{ credential: string; mark: string }>(marksSql, [hashes, keys]);
  return new Map(rows.map(({ credential, mark }) => [credential, mark]));
}
