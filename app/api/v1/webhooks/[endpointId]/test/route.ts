import { notFound } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import { inTenantOf, sendMessage } from "@/lib/api/resources/webhooks";
import { tenantRoute } from "@/lib/api/route";
import { testWebhook, webhookJob, webhookParams } from "@/lib/contract";
import { findEndpoint } from "@/lib/webhooks/endpoints";

export const dynamic = "force-dynamic";

const SAMPLE = { message: "This is a test of your webhook endpoint." };

export const POST = tenantRoute({
  permission: "webhooks:write",
  summary: "Send a test message to a webhook endpoint",
  params: webhookParams,
  body: testWebhook,
  response: webhookJob,
  status: 201,
  chained: true,
  handler: async (context) => {
    const { body, params } = context;
    const endpoint = await inTenantOf(context, (tx) => findEndpoint(tx, params.endpointId));
    if (!endpoint) throw notFound();
    const message = { endpoint_id: endpoint.id, type: body.type ?? "webhook.test", data: body.data ?? SAMPLE };
    const made = await sendMessage(context, endpoint, { message });
    return new Reply(made, { status: 201, headers: { location: `/api/v1/jobs/${made.job_id}` } });
  },
});
