import { shownJob } from "@/lib/api/resources/shown";
import { wakeWorkers } from "@/lib/api/resources/wake";
import { tenantRoute } from "@/lib/api/route";
import { pauseJobBody as body, job, jobParams } from "@/lib/contract";
import { pauseJob } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "jobs:update",
  summary: "Pause a queued job",
  params: jobParams,
  body,
  response: job,
  afterCommit: wakeWorkers,
  handler: async ({ db, scope, params }) => shownJob(await pauseJob(db, scope, params.jobId)),
});
