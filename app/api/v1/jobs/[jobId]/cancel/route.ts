import { shownJob } from "@/lib/api/resources/shown";
import { wakeForCancel } from "@/lib/api/resources/wake";
import { tenantRoute } from "@/lib/api/route";
import { cancelJobBody as cancelBody, job, jobParams } from "@/lib/contract";
import { cancelJob } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "jobs:cancel",
  summary: "Cancel a job. A running job is asked to stop",
  params: jobParams,
  body: cancelBody,
  response: job,
  afterCommit: wakeForCancel,
  handler: async ({ db, scope, params }) => shownJob(await cancelJob(db, scope, params.jobId)),
});
