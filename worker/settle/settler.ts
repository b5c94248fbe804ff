/**
 * Stores how attempts ended. Start with `Settler`.
 *
 * An end is stored once, and only while the attempt holds its lease. Storing is retried until the database answers.
 * Ends go in batches (`Batcher`), because a round trip per job would limit the throughput.
 */

import { setTimeout } from "node:timers/promises";
import { Batcher } from "@/lib/async/batcher";
import type { Database } from "@/lib/db";
import { DatabaseError } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import {
  type AttemptEnd,
  notifyChanges,
  notifyWork,
  type Refused,
  type Settled,
  settleAttempts,
} from "@/lib/queue/worker";
import { weightOfEnd } from "./weight-of-end";

const MOST = 500;
/** Characters of tails and results in a batch, because encoding one batch as JSON is one turn of the event loop. */
const MOST_WEIGHT = 1024 * 1024;
/** The ends of short jobs arrive in a stream; waiting this long batches them. */
const APART_MS = 10;
const LOCKED_AGAIN_MS = 100;
const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5000;

/** `refused` = nothing was stored, because a job that the attempt had enqueued was refused. */
export type SettleAnswer = "settled" | "lost" | { readonly refused: Refused };

interface Ended {
  readonly end: AttemptEnd;
  readonly laneNo: number;
}

/**
 * Records the ends of attempts in batches. Never gives up on an unavailable database, because the fence and not the
 * clock decides if a result still counts.
 */
export class Settler {
  private readonly batcher: Batcher<Ended, SettleAnswer>;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
    private readonly random: () => number,
  ) {
    this.batcher = new Batcher(
      (items) => this.settle(items),
      { most: MOST, apartMs: APART_MS, mostWeight: MOST_WEIGHT },
      ({ end }) => weightOfEnd(end, MOST_WEIGHT),
    );
  }

  /** Resolves when the end is stored, or when its lease is known to be lost. */
  add(end: AttemptEnd, laneNo: number): Promise<SettleAnswer> {
    return this.batcher.add({ end, laneNo });
  }

  private async settle(items: readonly Ended[]): Promise<(SettleAnswer | Promise<SettleAnswer>)[]> {
    const { lost, unstorable, locked, refused, releasedLanes } = await this.untilAnswered(items.map(({ end }) => end));
    this.complain(unstorable);
    const answers = new Map<string, (item: Ended) => SettleAnswer | Promise<SettleAnswer>>();
    for (const jobId of [...lost, ...unstorable]) answers.set(jobId, () => "lost");
    for (const jobId of locked) answers.set(jobId, (item) => this.later(item));
    for (const one of refused) answers.set(one.jobId, () => ({ refused: one }));
    this.notify(answers.size === 0 ? items : items.filter(({ end }) => !answers.has(end.jobId)), releasedLanes);
    if (answers.size === 0) return items.map(() => "settled");
    return items.map((item) => answers.get(item.end.jobId)?.(item) ?? "settled");
  }

  private async untilAnswered(ends: readonly AttemptEnd[]): Promise<Settled> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await settleAttempts(this.db, ends);
      } catch (error) {
        await this.pauseAfter(error, failures);
      }
    }
  }

  /** Another transaction has the job locked: its end goes with a later batch, and other ends do not wait for it. */
  private async later({ end, laneNo }: Ended): Promise<SettleAnswer> {
    await setTimeout(LOCKED_AGAIN_MS);
    return this.add(end, laneNo);
  }

  private complain(jobIds: readonly string[]): void {
    if (jobIds.length === 0) return;
    this.log.error({ job_ids: jobIds.slice(0, 10) }, "the database refuses the ends of these attempts");
  }

  private async pauseAfter(error: unknown, failures: number): Promise<void> {
    const away = error instanceof DatabaseError && error.kind !== "other" && error.kind !== "invalid";
    this.log[away ? "warn" : "error"]({ err: error }, "the ends of attempts could not be stored yet");
    await setTimeout(Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) * (0.5 + this.random()));
  }

  private notify(stored: readonly Ended[], released: readonly number[]): void {
    const back = stored.filter(({ end }) => end.outcome === undefined && (end.retryInSeconds ?? 0) <= 0);
    notifyWork(this.db, [...back.map(({ laneNo }) => laneNo), ...released]);
    notifyChanges(this.db, [...stored.map(({ laneNo }) => laneNo), ...released]);
  }
}
