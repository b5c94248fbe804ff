import { Reply } from "@/lib/api/http/respond";
import { chainDepthOfJob } from "@/lib/api/resources/chain";
import { shownJob } from "@/lib/api/resources/shown";
import { tenantRoute } from "@/lib/api/route";
import { runTriggerBody as runBody, triggerParams, triggerRun } from "@/lib/contract";
import { runTrigger } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "triggers:write",
  summary: "Run a trigger now, with its template or another payload",
  params: triggerParams,
  body: runBody,
  response: triggerRun,
  status: 201,
  chained: true,
  handler: async ({ db, scope, params, body, info, runtime }) => {
    const chainDepth = chainDepthOfJob(info, runtime.config.eventMaxDepth);
    const { job, firing } = await runTrigger(db, scope, { ...params, ...body, chainDepth });
    const answer = { firing: firing, job: shownJob(job) };
    return new Reply(answer, { status: 201, headers: { location: `/api/v1/jobs/${job.id}` } });
  },
});
