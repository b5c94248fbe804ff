import type { Database, TenantTransaction } from "@/lib/db";
import { JobError, type JobEvent, ReleasedError } from "@/lib/execution";
import { type ClaimedJob, type PublishedEvent, publishEvent, QueueError, SYSTEM } from "@/lib/queue/worker";

/**
 * Publishes what a job tells of, once in a run whatever attempt does it: the event goes on under the job's correlation id,
 * and what it starts lies one deeper than the job. Belongs into a transaction under the job's lease.
 */
export async function publishFromJob(
  tx: Database | TenantTransaction,
  job: ClaimedJob,
  { event, maxDepth }: { readonly event: JobEvent; readonly maxDepth: number | undefined },
): Promise<PublishedEvent> {
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
