import { listPosition, listReply } from "@/lib/api/http/list";
import { Reply } from "@/lib/api/http/respond";
import { bulkRequest, shownPreview } from "@/lib/api/resources/job-actions";
import { tenantRoute } from "@/lib/api/route";
import { createdJobAction, createJobAction, jobActionList, jobActionListQuery } from "@/lib/contract";
import { acceptBulkAction, listBulkActions, previewBulkAction } from "@/lib/queue";
import { bulkActionPermissions } from "@/lib/tenancy/permissions";

export const dynamic = "force-dynamic";

const READ = ["jobs:read"] as const;

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List bulk actions, newest first",
  query: jobActionListQuery,
  response: jobActionList,
  handler: async ({ db, scope, query, runtime, info }) => {
    const list = { secret: runtime.config.cursorSecret, list: "job-actions", tenantId: scope.tenantId, filter: {} };
    const position = listPosition(query, list);
    const page = await listBulkActions(db, scope, position);
    const url = new URL(info.path + info.search, runtime.config.origin);
    return listReply({ ...page, rows: page.actions }, position, { scope: list, url });
  },
});

export const POST = tenantRoute({
  permission: "jobs:update",
  summary: "Start a bulk action on jobs by ids or by filter. A dry run only counts them",
  body: createJobAction,
  response: createdJobAction,
  status: 202,
  tooMany: "The tenant has reached the limit of open actions; see Retry-After",
  // A filter selects jobs by fields that only callers with jobs:read may see.
  permissionsOf: ({ action, filter }) => [...bulkActionPermissions(action), ...(filter ? READ : [])],
  handler: async ({ db, scope, body }) => {
    const request = bulkRequest(body);
    if (body.dry_run)
      return new Reply(await shownPreview(await previewBulkAction(db, scope, request)), { status: 200 });
    const action = await acceptBulkAction(db, scope, request);
    const headers = { location: `/api/v1/jobs/actions/${action.id}` };
    return new Reply(action, { status: 202, headers });
  },
});
