import { platformRoute } from "@/lib/api/route";
import { tenantList } from "@/lib/contract";
import { listTenants } from "@/lib/tenancy/tenants";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:tenants:read",
  summary: "List the tenants of the installation",
  response: tenantList,
  handler: async ({ db }) => ({ data: await listTenants(db) }),
});
