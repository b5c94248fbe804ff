import type { ApiKeyScope, EffectiveRole, TenantPermission } from "@/lib/contract";
import { statement, type TenantTransaction } from "@/lib/db";
import type { BulkActionName } from "@/lib/queue/states";
import type { Actor } from "@/lib/queue/types";
import { bulkActionPermissions, permissionsOf } from "./permissions";

interface StandingRow {
  readonly role: EffectiveRole | null;
  readonly is_super_admin: boolean;
  readonly key_kind: "tenant" | "super_admin" | "worker" | null;
  readonly key_scopes: readonly ApiKeyScope[] | null;
}

const standingSql = statement("tenant_standing", "select * from app.standing_of($1, $2)");

/**
 * Returns an actor's current permissions in the tenant of the transaction, for work that outlives its request. Empty
 * once the user has left or was disabled, the key was revoked or has expired, or the tenant is suspended.
 */
async function standingPermissions(tx: TenantTransaction, actor: Actor): Promise<TenantPermission[]> {
  const keyId = actor.kind === "api_key" ? actor.id : null;
  const [row] = await tx.run<StandingRow>(standingSql, [actor.userId, keyId]);
  if (!row) return [];
  const role = row.is_super_admin ? "super_admin" : row.role;
  if (!role) return [];
  return permissionsOf(role, keyId === null ? null : { kind: row.key_kind ?? "worker", scopes: row.key_scopes ?? [] });
}

/** Returns true if an actor still has the permissions for an action on many jobs in the tenant of the transaction. */
export async function mayStillAct(tx: TenantTransaction, action: BulkActionName, actor: Actor): Promise<boolean> {
  const held = await standingPermissions(tx, actor);
  return bulkActionPermissions(action).every((permission) => held.includes(permission));
}
