import { setTimeout as delay } from "node:timers/promises";
import { type Database, isUnavailable } from "@/lib/db";
import { type ArtifactStore, LeaseLostError, NonRetryableError } from "@/lib/execution";
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
} from "@/lib/queue";

const TRIES = 6;
const FIRST_PAUSE_MS = 100;

/** Keeps artifacts of one attempt under its lease. While the database does not answer, each call tries for some seconds. */
export function artifactsOf(db: Database, job: ClaimedJob, quota: ArtifactQuota): ArtifactStore {
  return {
    begin: (artifact) => repeated(() => beginArtifact(db, job, artifact)),
    append: (id, no, bytes) => repeated(() => appendArtifact(db, job, { id, no, bytes, quota })),
    finish: async (id, whole) => {
      await repeated(() => finishArtifact(db, job, { id, ...whole }));
      notifyChanges(db, [job.laneNo]);
    },
    discard: (ids) => discardArtifacts(db, job, ids).catch(() => undefined),
  };
}

/** Every call may be sent again: a chunk has a number, and an artifact that was begun twice is begun once. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof QueueLeaseLost) throw new LeaseLostError();
      if (error instanceof QueueError) throw new NonRetryableError(error.message, { errorType: "internal" });
      if (!isUnavailable(error) || tries === TRIES) throw error;
    }
    await delay(FIRST_PAUSE_MS * 2 ** tries);
  }
}
