import { tenantRoute } from "@/lib/api/route";
import { tenantProviderList } from "@/lib/contract";
import { listTenantProviders } from "@/lib/inventory/tenant-providers";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "assets:read",
  summary: "List the folders that are registered for the tenant",
  response: tenantProviderList,
  handler: async ({ db, scope }) => ({ data: await listTenantProviders(db, scope.tenantId) }),
});
