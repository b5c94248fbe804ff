import { randomBytes } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { apiKeys, memberships, tenants, users } from "@/drizzle/schema";
import { generateApiKey } from "@/lib/auth/api-key";
import { writeAudit } from "@/lib/auth/audit";
import { hashPassword } from "@/lib/auth/password";
import { API_KEY_SCOPES, type ApiKeyScope, type TenantRole } from "@/lib/contract";
import type { Database, Runner } from "@/lib/db";

const PASSWORD_BYTES = 15;
const KEY_DAYS = 365;

/** All scopes that a tenant's key can have. */
export const TENANT_SCOPES: readonly ApiKeyScope[] = API_KEY_SCOPES.filter((scope) => !scope.startsWith("platform:"));

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
    const set = {
      password_hash: hash,
      is_super_admin: user.superAdmin ?? false,
      must_change_password: user.mustChange ?? false,
    };
    const made = await tx.orm
      .insert(users)
      .values({ email: sql`lower(${user.email})`, display_name: user.name, ...set })
      .onConflictDoUpdate({ target: users.email, set: { ...set, disabled_at: null, updated_at: sql`app.now()` } })
      .returning({ id: users.id });
    const id = idOf(made);
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
  const [row] = await db.orm
    .select({ id: users.id })
    .from(users)
    .where(eq(users.email, sql`lower(${email})`));
  return row?.id ?? null;
}

/** Creates the tenant if missing. Returns the id. */
export async function putTenant(db: Runner, slug: string, name: string): Promise<string> {
  const made = await db.orm
    .insert(tenants)
    .values({ slug, name })
    .onConflictDoUpdate({ target: tenants.slug, set: { updated_at: sql`app.now()` } })
    .returning({ id: tenants.id });
  return idOf(made);
}

export async function putMembership(
  db: Runner,
  { tenantId, userId, role }: { tenantId: string; userId: string; role: TenantRole },
): Promise<void> {
  await db.orm
    .insert(memberships)
    .values({ tenant_id: tenantId, user_id: userId, role })
    .onConflictDoUpdate({ target: [memberships.tenant_id, memberships.user_id], set: { role } });
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
  await db.orm.insert(apiKeys).values({
    key_id: keyId,
    secret_hash: secretHash,
    last4,
    kind,
    tenant_id: tenantId,
    name,
    scopes: [...scopes],
    created_by: createdBy,
    expires_at: sql`app.now() + make_interval(days => ${KEY_DAYS})`,
    worker_definitions: definitions && [...definitions],
  });
  return key;
}

function idOf(rows: readonly { id: string }[]): string {
  const [row] = rows;
  if (!row) throw new Error("the database returned no id");
  return row.id;
}
