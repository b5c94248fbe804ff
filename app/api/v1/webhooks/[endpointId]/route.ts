import { etagOf } from "@/lib/api/http/etag";
import { notFound } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import {
  auditedInTenant,
  checkEndpoint,
  endpointChange,
  inTenantOf,
  lockedEndpoint,
} from "@/lib/api/resources/webhooks";
import { tenantRoute } from "@/lib/api/route";
import { updateWebhook, webhookEndpoint, webhookParams } from "@/lib/contract";
import { deleteEndpoint, findEndpoint, updateEndpoint } from "@/lib/webhooks/endpoints";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "webhooks:read",
  summary: "Read one webhook endpoint",
  params: webhookParams,
  response: webhookEndpoint,
  etag: true,
  handler: async (context) => {
    const endpoint = await inTenantOf(context, (tx) => findEndpoint(tx, context.params.endpointId));
    if (!endpoint) throw notFound();
    return new Reply(endpoint, { headers: etagOf(endpoint) });
  },
});

export const PATCH = tenantRoute({
  permission: "webhooks:write",
  summary: "Change a webhook endpoint. Omitted fields stay unchanged, headers replaces all headers",
  params: webhookParams,
  body: updateWebhook,
  response: webhookEndpoint,
  etag: true,
  tooMany: "Many addresses of the tenant are being looked up; see Retry-After",
  prepare: checkEndpoint,
  handler: async (context) => {
    const { body, runtime, params, info } = context;
    const changed = await auditedInTenant(context, "webhook.changed", async (tx) => {
      const current = await lockedEndpoint(tx, params.endpointId, info);
      const done = await updateEndpoint(tx, runtime.sealer, { current, change: endpointChange(body) });
      return { objectId: current.id, done };
    });
    return new Reply(changed, { headers: etagOf(changed) });
  },
});

export const DELETE = tenantRoute({
  permission: "webhooks:write",
  summary: "Delete a webhook endpoint and its secrets. Waiting messages fail",
  params: webhookParams,
  response: webhookEndpoint,
  etag: true,
  handler: (context) =>
    auditedInTenant(context, "webhook.deleted", async (tx) => {
      const endpoint = await lockedEndpoint(tx, context.params.endpointId, context.info);
      await deleteEndpoint(tx, endpoint.id);
      return { objectId: endpoint.id, done: endpoint };
    }),
});
