import { Reply } from "@/lib/api/http/respond";
import { chainDepthOfJob } from "@/lib/api/resources/chain";
import { shownJob } from "@/lib/api/resources/shown";
import { wakeWorkers } from "@/lib/api/resources/wake";
import { tenantRoute } from "@/lib/api/route";
import { job, jobParams, retryJobBody as retryBody } from "@/lib/contract";
import { retryJob } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "jobs:retry",
  summary: "Retry a finished job, or create a new job with another payload",
  params: jobParams,
  body: retryBody,
  response: job,
  chained: true,
  afterCommit: wakeWorkers,
  handler: async ({ db, scope, params, body, info, runtime }) => {
    const chainDepth = chainDepthOfJob(info, runtime.config.eventMaxDepth);
    const change = "payload" in body ? { payload: body.payload } : {};
    const retried = await retryJob(db, scope, { jobId: params.jobId, chainDepth, ...change });
    if (!retried.created) return shownJob(retried.job);
    const headers = { location: `/api/v1/jobs/${retried.job.id}` };
    return new Reply(shownJob(retried.job), { status: 201, headers });
  },
});
