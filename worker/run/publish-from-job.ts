import type { Database, TenantTransaction } from "@/lib/db";
import { type HandlerEvent, JobError, ReleasedError } from "@/lib/execution";
import { type ClaimedJob, type Published, publishEvent, QueueError, SYSTEM } from "@/lib/queue/worker";

/**
 * Publishes an event of a job, once per run however many attempts ask for it. The event inherits the job's correlation
 * id, and the jobs it triggers are one level deeper than this job. Call it in a transaction under the job's lease.
 */
export async function publishFromJob(
  tx: Database | TenantTransaction,
  job: ClaimedJob,
  { event, maxDepth }: { readonly event: HandlerEvent; readonly maxDepth: number | undefined },
): Promise<Published> {
  const { name, data, key = name } = event;
  const scope = { tenantId: job.tenantId, actor: SYSTEM } as const;
  const asked = {
    name,
    data,
    producerId: `${job.jobId}:${job.runNo}:${key}`,
    source: "job",
    correlationId: job.correlationId ?? job.jobId,
    causedByJobId: job.jobId,
    depth: job.chainDepth,
  } as const;
  try {
    return await publishEvent(tx, scope, asked, maxDepth === undefined ? {} : { maxDepth });
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    if (error.code === "tenant-suspended")
      throw new ReleasedError(`The event ${JSON.stringify(name)} cannot be published: the tenant is suspended.`);
    const [problem] = error.problems;
    const detail = problem ? `${problem.pointer || "/"} ${problem.detail}` : error.message;
    throw new JobError(`the event ${JSON.stringify(name)} cannot be published: ${detail}`, {
      errorType: "internal",
      retryable: false,
      cause: error,
    });
  }
}
