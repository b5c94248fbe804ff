import { eq, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { dropTenantFilter } from "@/lib/env/test-build";

/**
 * Returns the application's own tenant condition, first in every WHERE. Row security is the second layer. A test build
 * can drop this condition (LEASEHOLD_TEST_NO_TENANT_FILTER) to show that row security alone holds. The parameter stays
 * referenced, so that the server can infer its type.
 */
export function tenantIs(column: string, parameter = "$1"): string {
  return dropTenantFilter() ? `(${parameter}::uuid is not null)` : `${column} = ${parameter}::uuid`;
}

/** Returns the same condition for queries that drizzle builds. */
export function ofTenant(column: PgColumn, tenantId: string): SQL {
  return dropTenantFilter() ? sql`true` : eq(column, tenantId);
}
