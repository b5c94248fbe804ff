import { notFound } from "@/lib/api/http/problem";
import { defined } from "@/lib/api/resources/filters";
import { shownJob } from "@/lib/api/resources/shown";
import { tenantRoute } from "@/lib/api/route";
import { changeJobBody as changeBody, job, jobParams } from "@/lib/contract";
import { changeJob, getJob } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "Get a job",
  params: jobParams,
  response: job,
  handler: async ({ db, scope, params }) => {
    const view = await getJob(db, scope, params.jobId);
    if (!view) throw notFound();
    return shownJob(view);
  },
});

export const PATCH = tenantRoute({
  permission: "jobs:update",
  summary: "Change priority or time of a queued or paused job",
  params: jobParams,
  body: changeBody,
  response: job,
  handler: async ({ db, scope, params, body }) =>
    shownJob(await changeJob(db, scope, { jobId: params.jobId, ...defined(body) })),
});
