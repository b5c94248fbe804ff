import { HttpProblem, notFound } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import { inTenantOf, sendMessage } from "@/lib/api/resources/webhooks";
import { tenantRoute } from "@/lib/api/route";
import { deliveryParams, webhookJob } from "@/lib/contract";
import { findSentMessage } from "@/lib/webhooks/deliveries";
import { webhookPayload } from "@/lib/webhooks/delivery";
import { findEndpoint } from "@/lib/webhooks/endpoints";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "webhooks:write",
  summary: "Resend a message with its original id",
  params: deliveryParams,
  response: webhookJob,
  status: 201,
  chained: true,
  handler: async (context) => {
    const found = await inTenantOf(context, async (tx) => ({
      endpoint: await findEndpoint(tx, context.params.endpointId),
      sent: await findSentMessage(tx, context.params),
    }));
    const { endpoint, sent } = found;
    if (!endpoint || !sent) throw notFound();
    const payload = webhookPayload.safeParse(sent.payload);
    if (!payload.success || !sent.queuedAt || !sent.definitionKey) {
      throw new HttpProblem("conflict", { detail: "The job of this delivery was deleted. Send a new message." });
    }
    const { timestamp = sent.queuedAt.toISOString(), ...kept } = payload.data;
    const message = { ...kept, timestamp, message_id: sent.messageId };
    const made = await sendMessage(context, endpoint, { message, definitionKey: sent.definitionKey });
    return new Reply(made, { status: 201, headers: { location: `/api/v1/jobs/${made.job_id}` } });
  },
});
