import { notFound } from "@/lib/api/problem";
import { tenantRoute } from "@/lib/api/route";
import { serializeStep } from "@/lib/api/serialize";
import { jobParams, stepList } from "@/lib/contract";
import { listSteps } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List the steps that the attempts of a job have done for good",
  params: jobParams,
  response: stepList,
  handler: async ({ db, scope, params }) => {
    const steps = await listSteps(db, scope, params.jobId);
    if (!steps) throw notFound();
    return { data: steps.map(serializeStep) };
  },
});
