import { DatabaseError } from "./errors";
import { statement } from "./statement";
import type { Database, TenantTransaction } from "./types";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

// Local to the transaction: a session setting would stay on the connection for its next borrower.
const enterTenant = statement("enter_tenant", "select set_config('app.current_tenant_id', $1, true)");

/**
 * Runs `fn` in a transaction in which row security shows and admits only this tenant's rows. This is the only way to a
 * tenant's rows. Commits when `fn` resolves, rolls back when it throws. The tenant id must be a UUID that the caller
 * has authorised.
 */
export function withTenant<T>(db: Database, tenantId: string, fn: (tx: TenantTransaction) => Promise<T>): Promise<T> {
  if (!UUID.test(tenantId)) return Promise.reject(new DatabaseError({ kind: "invalid", serverMessage: "tenant id" }));
  return db.transaction(async (tx) => {
    await tx.run(enterTenant, [tenantId]);
    return fn({ ...tx, tenantId });
  });
}
