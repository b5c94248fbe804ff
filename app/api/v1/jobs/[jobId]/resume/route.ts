import { shownJob } from "@/lib/api/resources/shown";
import { wakeWorkers } from "@/lib/api/resources/wake";
import { tenantRoute } from "@/lib/api/route";
import { pauseJobBody as body, job, jobParams } from "@/lib/contract";
import { resumeJob } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "jobs:update",
  summary: "Resume a paused job at its former position",
  params: jobParams,
  body,
  response: job,
  afterCommit: wakeWorkers,
  handler: async ({ db, scope, params }) => shownJob(await resumeJob(db, scope, params.jobId)),
});
