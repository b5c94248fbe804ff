import { BoundedMap } from "@/lib/async/bounded-map";
import type { Runner } from "@/lib/db";
import { queueRetrySql } from "../queues/queues.sql";
import type { Random } from "../retry/retry.policy";
import type { RetrySettings } from "../types";
import { decideEnd, type Ended } from "./attempt-end.policy";
import type { AttemptEnd } from "./types";

/** How long a queue's settings are cached. Failures of one queue come in bursts, when a common dependency is down. */
const KNOWN_FOR_MS = 5000;
const MOST_KNOWN = 1000;

interface Known {
  readonly at: number;
  readonly settings: RetrySettings;
}

const cache = new WeakMap<Runner, BoundedMap<number, Known>>();

/**
 * Decides what an ended execution means for its job, with the current retry settings of its queue. Reads the queue only
 * after a failure or timeout. If the database does not answer, the decision is made without the queue's settings.
 */
export async function decideAttemptEnd(db: Runner, ended: Omit<Ended, "queue">, random: Random): Promise<AttemptEnd> {
  const { kind } = ended.execution;
  if (kind !== "failed" && kind !== "timeout") return decideEnd(ended, random);
  const queue = await settingsOf(db, ended.claimed.laneNo).catch(() => undefined);
  return decideEnd({ ...ended, queue }, random);
}

async function settingsOf(db: Runner, laneNo: number): Promise<RetrySettings> {
  const known = cache.get(db) ?? new BoundedMap<number, Known>(MOST_KNOWN);
  cache.set(db, known);
  const hit = known.get(laneNo);
  if (hit && performance.now() - hit.at < KNOWN_FOR_MS) return hit.settings;
  const [row] = await db.run<{ retry_delay_seconds: number | null; retry_multiplier: number | null }>(queueRetrySql, [
    laneNo,
  ]);
  const settings = { delay_seconds: row?.retry_delay_seconds ?? null, multiplier: row?.retry_multiplier ?? null };
  known.set(laneNo, { at: performance.now(), settings });
  return settings;
}
