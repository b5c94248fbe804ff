import { auditedChange } from "@/lib/api/audited";
import { notFound } from "@/lib/api/http/problem";
import { serializeTenant } from "@/lib/api/resources/serialize-queues";
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
  handler: async (context) => {
    const { params, body } = context;
    const changed = await auditedChange(
      context,
      async (db) => {
        const now = await setTenantWeight(db, params.tenantId, body.weight);
        if (!now) throw notFound();
        return now;
      },
      ({ id, weight }) => ({
        action: "tenant.changed",
        objectKind: "tenant",
        objectId: id,
        tenantId: id,
        detail: { weight },
      }),
    );
    return serializeTenant(changed);
  },
});
