import { jobFilter, newJob } from "@/lib/api/filters";
import { listPosition, listReply } from "@/lib/api/list";
import { notFound, requireParent } from "@/lib/api/problem";
import { Reply } from "@/lib/api/respond";
import { tenantRoute } from "@/lib/api/route";
import { serializeJob, serializeJobRow } from "@/lib/api/serialize";
import { wakeWorkers } from "@/lib/api/wake";
import { createJob, job, jobList, jobListQuery } from "@/lib/contract";
import { enqueueJob, getJob, listJobs } from "@/lib/queue";

export const dynamic = "force-dynamic";

/** The answer tells what was accepted; a worker may have begun, or even ended, the job by the time it is read. */
const AS_ACCEPTED = {
  status: "queued",
  started_at: null,
  finished_at: null,
  attempt_count: 0,
  lease_expires_at: null,
  claimed_by_worker: null,
  progress: null,
  last_error: null,
  error_type: null,
  result: null,
} as const;

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
    return listReply({ ...page, rows: page.jobs.map(serializeJobRow) }, position, { scope: list, url });
  },
});

export const POST = tenantRoute({
  permission: "jobs:create",
  summary: "Enqueue a job",
  body: createJob,
  response: job,
  status: 201,
  afterCommit: wakeWorkers,
  handler: async ({ db, scope, body }) => {
    await requireParent(body.parent_job_id, (id) => getJob(db, scope, id));
    const enqueued = await enqueueJob(db, scope, newJob(body));
    const view = await getJob(db, scope, enqueued.jobId);
    if (!view) throw notFound();
    const answer = enqueued.deduplicated
      ? { ...serializeJob(view), deduplicated: true, conflict: enqueued.conflict ?? undefined }
      : { ...serializeJob(view), ...(enqueued.status === "queued" ? AS_ACCEPTED : {}) };
    const headers = { location: `/api/v1/jobs/${enqueued.jobId}` };
    return new Reply(answer, { status: enqueued.deduplicated ? 200 : 201, headers });
  },
});
