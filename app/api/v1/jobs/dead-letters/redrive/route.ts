import { Reply } from "@/lib/api/http/respond";
import { redriveRequest } from "@/lib/api/resources/dead-letters";
import { shownPreview } from "@/lib/api/resources/job-actions";
import { shownJob } from "@/lib/api/resources/shown";
import { wakeWorkers } from "@/lib/api/resources/wake";
import { tenantRoute } from "@/lib/api/route";
import { redrive, redriven } from "@/lib/contract";
import { acceptBulkAction, previewBulkAction, redriveEdited } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "jobs:retry",
  summary: "Redrive dead letters: by ids, by filter, all, or one with another payload",
  body: redrive,
  response: redriven,
  status: 202,
  tooMany: "The tenant has reached the limit of open actions; see Retry-After",
  afterCommit: wakeWorkers,
  // A filter selects jobs by fields that only callers with jobs:read may see.
  permissionsOf: ({ ids }) => (ids === undefined ? ["jobs:read"] : []),
  handler: async ({ db, scope, body }) => {
    const [jobId] = body.ids ?? [];
    if ("payload" in body && jobId !== undefined) {
      const made = await redriveEdited(db, scope, { jobId, payload: body.payload });
      return new Reply(shownJob(made), { status: 201, headers: { location: `/api/v1/jobs/${made.id}` } });
    }
    const request = redriveRequest(body);
    if (body.dry_run)
      return new Reply(await shownPreview(await previewBulkAction(db, scope, request)), { status: 200 });
    const action = await acceptBulkAction(db, scope, request);
    const headers = { location: `/api/v1/jobs/actions/${action.id}` };
    return new Reply(action, { status: 202, headers });
  },
});
