import { notFound } from "@/lib/api/http/problem";
import { tenantRoute } from "@/lib/api/route";
import { jobAction, jobActionParams } from "@/lib/contract";
import { getBulkAction } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "Get a bulk action with its progress",
  params: jobActionParams,
  response: jobAction,
  handler: async ({ db, scope, params }) => {
    const action = await getBulkAction(db, scope, params.actionId);
    if (!action) throw notFound();
    return action;
  },
});
