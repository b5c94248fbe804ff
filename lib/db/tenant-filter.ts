import { eq, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { dropTenantFilter } from "@/lib/env/test-build";

/**
 * The application's own tenant condition, first in every WHERE. Row security is the second wall; a test build can
 * drop this one (LEASEHOLD_TEST_NO_TENANT_FILTER) to show that the second wall alone holds.
 * The parameter stays used either way, so that its type is known to the server.
 */
export function tenantIs(column: string, parameter = "$1"): string {
  return dropTenantFilter() ? `(${parameter}::uuid is not null)` : `${column} = ${parameter}::uuid`;
}

/** The same condition for queries that drizzle builds. */
export function ofTenant(column: PgColumn, tenantId: string): SQL {
  return dropTenantFilter() ? sql`true` : eq(column, tenantId);
}
