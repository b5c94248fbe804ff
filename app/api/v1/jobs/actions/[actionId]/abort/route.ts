import { tenantRoute } from "@/lib/api/route";
import { abortJobAction, jobAction, jobActionParams } from "@/lib/contract";
import { abortBulkAction } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "jobs:update",
  summary: "Abort a bulk action. Finished changes stay in effect",
  params: jobActionParams,
  body: abortJobAction,
  response: jobAction,
  handler: async ({ db, scope, params }) => await abortBulkAction(db, scope, params.actionId),
});
