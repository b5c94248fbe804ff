import { listPosition, listReply } from "@/lib/api/http/list";
import { notFound } from "@/lib/api/http/problem";
import { inTenantOf } from "@/lib/api/resources/webhooks";
import { tenantRoute } from "@/lib/api/route";
import { webhookDeliveryList, webhookDeliveryQuery, webhookParams } from "@/lib/contract";
import { listDeliveries } from "@/lib/webhooks/deliveries";
import { findEndpoint } from "@/lib/webhooks/endpoints";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "webhooks:read",
  summary: "List attempts to deliver to a webhook endpoint, newest first",
  params: webhookParams,
  query: webhookDeliveryQuery,
  response: webhookDeliveryList,
  handler: async (context) => {
    const { scope, query, params, runtime, info } = context;
    const { limit, offset, cursor, outcome, job_id: jobId } = query;
    const filter = { outcome, jobId, endpoint: params.endpointId };
    const list = { secret: runtime.config.cursorSecret, list: "webhook-deliveries", tenantId: scope.tenantId, filter };
    const position = listPosition({ limit, offset, cursor }, list);
    const failed = outcome === undefined ? undefined : outcome === "failed";
    const page = await inTenantOf(context, async (tx) => {
      if (!(await findEndpoint(tx, params.endpointId))) throw notFound();
      return listDeliveries(tx, { endpointId: params.endpointId, failed, jobId, ...position });
    });
    return listReply(page, position, { scope: list, url: new URL(info.path + info.search, runtime.config.origin) });
  },
});
