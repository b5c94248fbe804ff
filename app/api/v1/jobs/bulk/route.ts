import { requireParents } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import { chainDepthOfJob } from "@/lib/api/resources/chain";
import { enqueuedAnswer, newJob, permissionsForNewJobs } from "@/lib/api/resources/jobs";
import { tenantRoute } from "@/lib/api/route";
import { acceptedJobs, createJobs, LIMITS } from "@/lib/contract";
import { enqueueJobs, knownJobs } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "jobs:create",
  summary: "Enqueue up to 1,000 jobs, all or none",
  body: createJobs,
  bodyNodes: LIMITS.bulkNodes,
  bodyList: "jobs",
  response: acceptedJobs,
  status: 201,
  chained: true,
  permissionsOf: ({ jobs }) => permissionsForNewJobs(jobs),
  handler: async ({ db, scope, body, info, runtime }) => {
    const chainDepth = chainDepthOfJob(info, runtime.config.eventMaxDepth);
    await requireParents(body.jobs, (ids) => knownJobs(db, scope, ids));
    const enqueued = await enqueueJobs(
      db,
      scope,
      body.jobs.map((one) => ({ ...newJob(one), chainDepth })),
      { inTurns: true },
    );
    const data = enqueued.map((job, index) => ({ ...enqueuedAnswer(job), ref: body.jobs[index]?.ref ?? null }));
    return new Reply({ data }, { status: enqueued.every((job) => job.deduplicated) ? 200 : 201 });
  },
});
