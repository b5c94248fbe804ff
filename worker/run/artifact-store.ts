import type { Database } from "@/lib/db";
import { throughOutage } from "@/lib/db/through-outage";
import { type ArtifactStore, AttemptLostError, NonRetryableError } from "@/lib/execution";
import {
  type ArtifactQuota,
  appendArtifact,
  beginArtifact,
  type ClaimedJob,
  discardArtifacts,
  finishArtifact,
  notifyChanges,
  QueueError,
  LeaseLostError as QueueLeaseLost,
} from "@/lib/queue/worker";

/**
 * Returns the artifact store of one attempt, whose writes need the attempt's lease. Calls are repeated while the
 * database is unavailable. Repeats store nothing twice, because chunks are numbered and beginning an artifact is
 * idempotent.
 */
export function artifactsOf(
  db: Database,
  attempt: { readonly job: ClaimedJob; readonly signal: AbortSignal },
  quota: ArtifactQuota,
): ArtifactStore {
  const { job } = attempt;
  const send = <T>(call: () => Promise<T>) => throughOutage(attempt, call).catch(translated);
  return {
    begin: (artifact) => send(() => beginArtifact(db, job, artifact)),
    append: (id, no, bytes) => send(() => appendArtifact(db, job, { id, no, bytes, quota })),
    finish: async (id, whole) => {
      await send(() => finishArtifact(db, job, { id, ...whole }));
      notifyChanges(db, [job.laneNo]);
    },
    discard: (ids) => discardArtifacts(db, job, ids).catch(() => undefined),
  };
}

function translated(error: unknown): never {
  if (error instanceof QueueLeaseLost) throw new AttemptLostError();
  if (error instanceof QueueError) throw new NonRetryableError(error.message, { errorType: "internal" });
  throw error;
}
