import { dropTenantFilter } from "@/lib/env/test-build";

/**
 * The application's own tenant condition, first in every WHERE. Row security is the second wall; a test build can
 * drop this one (LEASEHOLD_TEST_NO_TENANT_FILTER) to show that the second wall alone holds.
 * The parameter stays used either way, so that its type is known to the server.
 */
export function tenantIs(column: string, parameter = "$1"): string {
  return dropTenantFilter() ? `(${parameter}::uuid is not null)` : `${column} = ${parameter}::uuid`;
}
