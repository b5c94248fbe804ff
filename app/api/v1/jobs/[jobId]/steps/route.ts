import { notFound } from "@/lib/api/http/problem";
import { stepPosition } from "@/lib/api/resources/filters";
import { stepsAnswer } from "@/lib/api/resources/jobs";
import { tenantRoute } from "@/lib/api/route";
import { jobParams, stepList, stepListQuery } from "@/lib/contract";
import { listSteps } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List the completed steps of a job",
  params: jobParams,
  query: stepListQuery,
  response: stepList,
  handler: async ({ db, scope, params, query }) => {
    const page = await listSteps(db, scope, params.jobId, stepPosition(query.after));
    if (!page) throw notFound();
    return stepsAnswer(page);
  },
});
