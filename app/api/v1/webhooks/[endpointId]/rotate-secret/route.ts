import { etagOf } from "@/lib/api/http/etag";
import { HttpProblem, notFound } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import { auditedInTenant } from "@/lib/api/resources/webhooks";
import { tenantRoute } from "@/lib/api/route";
import { webhookEndpointWithSecret, webhookParams } from "@/lib/contract";
import { newWebhookSecret } from "@/lib/webhooks/delivery";
import { rotateSecret } from "@/lib/webhooks/endpoints";

export const dynamic = "force-dynamic";

const TOO_OFTEN =
  "Three earlier secrets are still valid, each for 24 hours after it was replaced. Try again when one has expired.";

export const POST = tenantRoute({
  permission: "webhooks:write",
  summary: "Rotate the secret of a webhook endpoint. The new one is returned only once, both are valid for 24 hours",
  params: webhookParams,
  response: webhookEndpointWithSecret,
  withoutSecrets: (answer) => ({ ...answer, secret: "" }),
  handler: async (context) => {
    const secret = newWebhookSecret();
    const rotated = await auditedInTenant(context, "webhook.secret_rotated", async (tx) => {
      const endpoint = await rotateSecret(tx, context.runtime.sealer, { id: context.params.endpointId, secret });
      if (!endpoint) throw notFound();
      if (endpoint === "too-often") throw new HttpProblem("conflict", { detail: TOO_OFTEN });
      return { objectId: endpoint.id, done: endpoint };
    });
    return new Reply({ ...rotated, secret }, { headers: etagOf(rotated) });
  },
});
