import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { leasesUnder, type Numbers, releasedEnd } from "@/lib/queue/worker";
import type { Settler } from "../settle/settler";

/** A statement that nobody waits for any more may be carried out for so long yet. */
const LOOK_FOR_MS = 90_000;

interface UnheardOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly workerId: string;
  readonly settler: Pick<Settler, "add">;
}

/**
 * Gives back what claims took whose answers did not arrive. Some of those jobs count as started, although nobody runs
 * them: left to the end of their leases, each would have spent an attempt.
 */
export class UnheardClaims {
  private claims: { readonly numbers: Numbers; readonly lookUntil: number }[] = [];

  constructor(private readonly options: UnheardOptions) {}

  /** A claim under these numbers failed: it may have been done, or be done yet. */
  failed(numbers: Numbers): void {
    this.claims.push({ numbers, lookUntil: performance.now() + LOOK_FOR_MS });
  }

  /** Call it from time to time; it may still be at it then. Resolves when what it found is given back. Never rejects. */
  async giveBack(): Promise<void> {
    const now = performance.now();
    this.claims = this.claims.filter(({ lookUntil }) => lookUntil > now);
    if (this.claims.length === 0) return;
    const { db, log, workerId, settler } = this.options;
    try {
      const found = await leasesUnder(db, { workerId, numbers: this.claims.map(({ numbers }) => numbers) });
      if (found.length > 0) log.warn({ jobs: found.length }, "a claim was not answered; its jobs are given back");
      await Promise.all(found.map((lease) => settler.add(releasedEnd(lease), lease.laneNo)));
    } catch (error) {
      log.debug({ err: error }, "what unanswered claims took is looked for again");
    }
  }
}
