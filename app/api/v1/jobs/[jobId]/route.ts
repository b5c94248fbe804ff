import { notFound } from "@/lib/api/http/problem";
import { jobChangeOf } from "@/lib/api/resources/filters";
import { serializeJob } from "@/lib/api/resources/serialize";
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
    return serializeJob(view);
  },
});

export const PATCH = tenantRoute({
  permission: "jobs:update",
  summary: "Change priority or time of a queued or paused job",
  params: jobParams,
  body: changeBody,
  response: job,
  handler: async ({ db, scope, params, body }) =>
    serializeJob(await changeJob(db, scope, { jobId: params.jobId, ...jobChangeOf(body) })),
});
