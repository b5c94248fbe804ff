import { randomBytes } from "node:crypto";
import { generateApiKey } from "@/lib/auth/api-key";
import { writeAudit } from "@/lib/auth/audit";
import { hashPassword } from "@/lib/auth/password";
import { API_KEY_SCOPES, type ApiKeyScope, type TenantRole } from "@/lib/contract";
import { type Database, type Runner, statement } from "@/lib/db";

const PASSWORD_BYTES = 15;
const KEY_DAYS = 365;

/** All scopes that a tenant's key can have. */
export const TENANT_SCOPES: readonly ApiKeyScope[] = API_KEY_SCOPES.filter((scope) => !scope.startsWith("platform:"));

// Repeats the parameters instead of `excluded`, because this role has no SELECT on the hash that `excluded` would need.
const upsertUser = statement(
  "admin_upsert_user",
  `insert into app.users (email, display_name, password_hash, is_super_admin, must_change_password)
   values (lower($1), $2, $3, $4, $5)
   on conflict (email) do update set password_hash = $3, is_super_admin = $4, must_change_password = $5,
     disabled_at = null, updated_at = app.now()
   returning id`,
);

const findUser = statement("admin_find_user", "select id from app.users where email = lower($1)");

const upsertTenant = statement(
  "admin_upsert_tenant",
  `insert into app.tenants (slug, name) values ($1, $2)
   on conflict (slug) do update set updated_at = app.now() returning id`,
);

const upsertMembership = statement(
  "admin_upsert_membership",
  `insert into app.memberships (tenant_id, user_id, role) values ($1, $2, $3)
   on conflict (tenant_id, user_id) do update set role = excluded.role`,
);

const insertKey = statement(
  "admin_insert_api_key",
  `insert into app.api_keys (key_id, secret_hash, last4, kind, tenant_id, name, scopes, created_by, expires_at,
     worker_definitions)
   values ($1, $2, $3, $4, $5, $6, $7, $8, app.now() + make_interval(days => $9), $10)`,
);

/** Returns a password of 120 random bits. */
export function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString("base64url");
}

export interface SeedUser {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly superAdmin?: boolean;
  readonly mustChange?: boolean;
}

/** Creates the user, or gives an existing one this password; audited. Returns the id. */
export async function putUser(db: Database, user: SeedUser): Promise<string> {
  const hash = await hashPassword(user.password);
  return db.transaction(async (tx) => {
    const values = [user.email, user.name, hash, user.superAdmin ?? false, user.mustChange ?? false];
    const id = idOf(await tx.run<{ id: string }>(upsertUser, values));
    await writeAudit(tx, {
      actorKind: "system",
      action: "user.seeded",
      severity: user.superAdmin ? "high" : "medium",
      objectKind: "user",
      objectId: id,
      success: true,
      detail: { super_admin: user.superAdmin ?? false },
    });
    return id;
  });
}

/** Returns the id of the user with this address, or null. */
export async function findUserId(db: Runner, email: string): Promise<string | null> {
  const [row] = await db.run<{ id: string }>(findUser, [email]);
  return row?.id ?? null;
}

/** Creates the tenant if missing. Returns the id. */
export async function putTenant(db: Runner, slug: string, name: string): Promise<string> {
  return idOf(await db.run<{ id: string }>(upsertTenant, [slug, name]));
}

export async function putMembership(
  db: Runner,
  { tenantId, userId, role }: { tenantId: string; userId: string; role: TenantRole },
): Promise<void> {
  await db.run(upsertMembership, [tenantId, userId, role]);
}

export interface SeedKey {
  readonly kind: "tenant" | "super_admin" | "worker";
  readonly tenantId: string | null;
  readonly name: string;
  readonly scopes: readonly ApiKeyScope[];
  readonly createdBy: string;
  /** For a worker's key: the remote definitions whose jobs it may claim. */
  readonly definitions?: readonly string[];
}

/** Creates an API key that lasts a year. Returns its text, which is stored nowhere. */
export async function putApiKey(db: Runner, seed: SeedKey): Promise<string> {
  const { kind, tenantId, name, scopes, createdBy, definitions = null } = seed;
  const { key, keyId, secretHash, last4 } = generateApiKey();
  const values = [keyId, secretHash, last4, kind, tenantId, name, [...scopes], createdBy, KEY_DAYS, definitions];
  await db.run(insertKey, values);
  return key;
}

function idOf(rows: readonly { id: string }[]): string {
  const [row] = rows;
  if (!row) throw new Error("the database returned no id");
  return row.id;
}
