import { writeAudit } from "@/lib/auth/audit";
import { API_KEY_SCOPES, type TenantRole } from "@/lib/contract";
import type { Database } from "@/lib/db";
import { findUserId, newPassword, putApiKey, putMembership, putTenant, putUser, TENANT_SCOPES } from "./people.drizzle";

/** A tenant's member, created from the command line. */
export interface NewMember {
  /** The tenant's slug; the tenant is created if missing. */
  readonly tenant: string;
  readonly email: string;
  readonly role: TenantRole;
}

interface Extras {
  /** Also creates an API key for the person and prints it once. */
  readonly key: boolean;
  readonly log: (line: string) => void;
}

/**
 * Makes a person a super admin with a one-time password, which is printed once. An existing person gets a new password.
 * @throws Error if the address is not an e-mail address
 */
export async function makeSuperAdmin(db: Database, email: string, { key, log }: Extras): Promise<void> {
  if (!isEmail(email)) throw new Error("--admin needs an e-mail address.");
  const password = newPassword();
  const id = await putUser(db, { email, name: "Super admin", password, superAdmin: true, mustChange: true });
  log(`Super admin:        ${email.toLowerCase()}`);
  log(`One-time password:  ${password}`);
  if (key) await makeKey(db, { userId: id, tenantId: null, log });
}

/**
 * Makes a person a member of a tenant with this role, and creates the tenant if missing. A new person gets a one-time
 * password, which is printed once; an existing person keeps theirs.
 * @throws Error if the slug or the address is invalid
 */
export async function makeMember(db: Database, member: NewMember, { key, log }: Extras): Promise<void> {
  const { tenant, email, role } = member;
  if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(tenant)) {
    throw new Error("--tenant needs a slug: 1 to 63 lower-case letters, digits and inner hyphens.");
  }
  if (!isEmail(email)) throw new Error("--member needs an e-mail address.");
  const known = await findUserId(db, email);
  const password = newPassword();
  const userId = known ?? (await putUser(db, { email, name: email, password, mustChange: true }));
  const tenantId = await db.transaction(async (tx) => {
    const id = await putTenant(tx, tenant, tenant);
    await putMembership(tx, { tenantId: id, userId, role });
    await writeAudit(tx, {
      tenantId: id,
      actorKind: "system",
      action: "membership.seeded",
      severity: "medium",
      objectKind: "user",
      objectId: userId,
      success: true,
      detail: { role },
    });
    return id;
  });
  log(`Tenant:             ${tenant}`);
  log(`${role.padEnd(20).replace(/^./, (first) => first.toUpperCase())}${email.toLowerCase()}`);
  log(`One-time password:  ${known ? "none, because the user has a password" : password}`);
  if (key) await makeKey(db, { userId, tenantId, log });
}

async function makeKey(
  db: Database,
  { userId, tenantId, log }: { userId: string; tenantId: string | null; log: Extras["log"] },
): Promise<void> {
  const kind = tenantId === null ? "super_admin" : "tenant";
  const scopes = tenantId === null ? API_KEY_SCOPES : TENANT_SCOPES;
  const key = await db.transaction(async (tx) => {
    const made = await putApiKey(tx, { kind, tenantId, name: "seed", scopes, createdBy: userId });
    await writeAudit(tx, {
      tenantId,
      actorKind: "system",
      action: "api_key.seeded",
      severity: "high",
      objectKind: "user",
      objectId: userId,
      success: true,
      detail: { kind },
    });
    return made;
  });
  log(`API key:            ${key}`);
}

const isEmail = (text: string): boolean => /^[^\s@]+@[^\s@]+$/.test(text);
