import { setTimeout } from "node:timers/promises";
import type { Database } from "@/lib/db";
import { DatabaseError } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { type AttemptEnd, notifyChanges, notifyWork, settleAttempts } from "@/lib/queue";
import { Batcher } from "./batcher";

const MOST = 500;
const LOCKED_AGAIN_MS = 100;
const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5000;

/** `refused` = nothing was stored, because a job that the attempt had enqueued was refused. */
export type SettleAnswer = "settled" | "lost" | { readonly refused: string };

interface Ended {
  readonly end: AttemptEnd;
  readonly laneNo: number;
}

/**
 * Records the ends of attempts in batches and does not give up: a database that is away is asked again until it answers,
 * since the fence and not the clock decides whether a result still counts.
 */
export class Settler {
  private readonly batcher: Batcher<Ended, SettleAnswer>;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
    private readonly random: () => number,
  ) {
    this.batcher = new Batcher((items) => this.settle(items), MOST);
  }

  /** Resolves when the end is stored, or is known to be of a lease that was lost. */
  add(end: AttemptEnd, laneNo: number): Promise<SettleAnswer> {
    return this.batcher.add({ end, laneNo });
  }

  private async settle(items: readonly Ended[]): Promise<SettleAnswer[]> {
    const lost = new Set<string>();
    const released = new Set<number>();
    const refused = new Map<string, string>();
    let open = items.map(({ end }) => end);
    for (let failures = 0; open.length > 0; ) {
      try {
        const settled = await settleAttempts(this.db, open);
        for (const jobId of [...settled.lost, ...settled.unstorable]) lost.add(jobId);
        this.complain(settled.unstorable);
        for (const laneNo of settled.releasedLanes) released.add(laneNo);
        for (const { jobId, reason } of settled.refused) refused.set(jobId, reason);
        open = open.filter((end) => settled.locked.includes(end.jobId));
        failures = 0;
        if (open.length > 0) await setTimeout(LOCKED_AGAIN_MS);
      } catch (error) {
        failures += 1;
        await this.pauseAfter(error, failures);
      }
    }
    this.tell(
      items.filter(({ end }) => !lost.has(end.jobId) && !refused.has(end.jobId)),
      released,
    );
    return items.map(({ end }) => {
      const reason = refused.get(end.jobId);
      if (reason !== undefined) return { refused: reason };
      return lost.has(end.jobId) ? "lost" : "settled";
    });
  }

  private complain(jobIds: readonly string[]): void {
    if (jobIds.length === 0) return;
    this.log.error({ job_ids: jobIds.slice(0, 10) }, "the database will not store how these attempts ended");
  }

  private async pauseAfter(error: unknown, failures: number): Promise<void> {
    const away = error instanceof DatabaseError && error.kind !== "other" && error.kind !== "invalid";
    this.log[away ? "warn" : "error"]({ err: error }, "the ends of attempts could not be stored yet");
    await setTimeout(Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) * (0.5 + this.random()));
  }

  private tell(stored: readonly Ended[], released: ReadonlySet<number>): void {
    const back = stored.filter(({ end }) => end.outcome === undefined && (end.retryInSeconds ?? 0) <= 0);
    notifyWork(this.db, [...back.map(({ laneNo }) => laneNo), ...released]);
    notifyChanges(this.db, [...stored.map(({ laneNo }) => laneNo), ...released]);
  }
}
