import { notFound } from "@/lib/api/http/problem";
import { tenantRoute } from "@/lib/api/route";
import { dependenciesAnswer, jobParams, LIMITS } from "@/lib/contract";
import { listDependencies } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List the parents and children of a job",
  params: jobParams,
  response: dependenciesAnswer,
  handler: async ({ db, scope, params }) => {
    const found = await listDependencies(db, scope, { jobId: params.jobId, limit: LIMITS.dependencyPageMax });
    if (!found) throw notFound();
    return found;
  },
});
