import { notFound } from "@/lib/api/problem";
import { tenantRoute } from "@/lib/api/route";
import { serializeAttempt } from "@/lib/api/serialize";
import { attemptList, jobParams } from "@/lib/contract";
import { listAttempts } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List the attempts of a job",
  params: jobParams,
  response: attemptList,
  handler: async ({ db, scope, params }) => {
    const attempts = await listAttempts(db, scope, params.jobId);
    if (!attempts) throw notFound();
    return { data: attempts.map(serializeAttempt) };
  },
});
