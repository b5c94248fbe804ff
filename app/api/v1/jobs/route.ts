import { listPosition, listReply } from "@/lib/api/http/list";
import { requireParent } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import { chainDepthOfJob } from "@/lib/api/resources/chain";
import { jobFilter } from "@/lib/api/resources/filters";
import { newJob, permissionsForNewJob } from "@/lib/api/resources/jobs";
import { shownJob, shownJobs } from "@/lib/api/resources/shown";
import { tenantRoute } from "@/lib/api/route";
import { createJob, job, jobList, jobListQuery } from "@/lib/contract";
import { acceptJob, getJob, listJobs } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List jobs, newest first",
  query: jobListQuery,
  response: jobList,
  handler: async ({ db, scope, query, runtime, info }) => {
    const { limit, offset, cursor, ...filter } = query;
    const list = { secret: runtime.config.cursorSecret, list: "jobs", tenantId: scope.tenantId, filter };
    const position = listPosition({ limit, offset, cursor }, list);
    const page = await listJobs(db, scope, jobFilter(query), position);
    const url = new URL(info.path + info.search, runtime.config.origin);
    return listReply({ ...page, rows: await shownJobs(page.jobs) }, position, { scope: list, url });
  },
});

export const POST = tenantRoute({
  permission: "jobs:create",
  summary: "Enqueue a job",
  body: createJob,
  response: job,
  status: 201,
  chained: true,
  permissionsOf: permissionsForNewJob,
  handler: async ({ db, scope, body, info, runtime }) => {
    const chainDepth = chainDepthOfJob(info, runtime.config.eventMaxDepth);
    await requireParent(body.parent_job_id, (id) => getJob(db, scope, id));
    const { enqueued, view } = await acceptJob(db, scope, { ...newJob(body), chainDepth });
    const { deduplicated, conflict } = enqueued;
    const answer = conflict === null ? shownJob(view) : { ...shownJob(view), deduplicated, conflict };
    const headers = { location: `/api/v1/jobs/${enqueued.jobId}` };
    return new Reply(answer, { status: deduplicated ? 200 : 201, headers });
  },
});
