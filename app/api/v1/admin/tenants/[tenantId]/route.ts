import { auditedChange } from "@/lib/api/audited";
import { notFound } from "@/lib/api/http/problem";
import { platformRoute } from "@/lib/api/route";
import { tenant, tenantParams, updateTenant } from "@/lib/contract";
import { setTenantWeight } from "@/lib/tenancy/tenants";

export const dynamic = "force-dynamic";

export const PATCH = platformRoute({
  permission: "platform:tenants:write",
  summary: "Change a tenant's share of the workers",
  params: tenantParams,
  body: updateTenant,
  response: tenant,
  handler: (context) =>
    auditedChange(
      context,
      async (db) => {
        const changed = await setTenantWeight(db, context.params.tenantId, context.body.weight);
        if (!changed) throw notFound();
        return changed;
      },
      ({ id, weight }) => ({
        action: "tenant.changed",
        objectKind: "tenant",
        objectId: id,
        tenantId: id,
        detail: { weight },
      }),
    ),
});
