import { notFound } from "@/lib/api/problem";
import { tenantRoute } from "@/lib/api/route";
import { serializeJob } from "@/lib/api/serialize";
import { job, jobParams } from "@/lib/contract";
import { getJob } from "@/lib/queue";

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
