import { etagOf } from "@/lib/api/http/etag";
import { Reply } from "@/lib/api/http/respond";
import { auditedInTenant, checkEndpoint, inTenantOf, tooMany } from "@/lib/api/resources/webhooks";
import { tenantRoute } from "@/lib/api/route";
import { createWebhook, webhookEndpointList, webhookEndpointWithSecret } from "@/lib/contract";
import { newWebhookSecret } from "@/lib/webhooks/delivery";
import { insertEndpoint, listEndpoints } from "@/lib/webhooks/endpoints";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "webhooks:read",
  summary: "List webhook endpoints, newest first",
  response: webhookEndpointList,
  handler: async (context) => ({ data: await inTenantOf(context, listEndpoints) }),
});

export const POST = tenantRoute({
  permission: "webhooks:write",
  summary: "Create a webhook endpoint. The secret is returned only once",
  body: createWebhook,
  response: webhookEndpointWithSecret,
  status: 201,
  etag: true,
  withoutSecrets: (answer) => ({ ...answer, secret: "" }),
  tooMany: "Many addresses of the tenant are being looked up; see Retry-After",
  prepare: checkEndpoint,
  handler: async (context) => {
    const { body, runtime, actor } = context;
    const secret = newWebhookSecret();
    const made = await auditedInTenant(context, "webhook.created", async (tx) => {
      const endpoint = await insertEndpoint(tx, runtime.sealer, {
        url: body.url,
        description: body.description ?? "",
        event_types: body.event_types ?? null,
        is_enabled: body.is_enabled ?? true,
        headers: body.headers ?? {},
        secret,
        created_by: actor.userId,
      });
      if (!endpoint) throw tooMany();
      return { objectId: endpoint.id, done: endpoint };
    });
    const headers = { location: `/api/v1/webhooks/${made.id}`, ...etagOf(made) };
    return new Reply({ ...made, secret }, { status: 201, headers });
  },
});
