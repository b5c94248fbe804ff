import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { givenBackEnd, leasesUnder, type Numbers } from "@/lib/queue/worker";
import type { Settler } from "../settle/settler";

/** The server may still carry out an abandoned statement for this long. */
const LOOK_FOR_MS = 90_000;

interface UnheardOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly workerId: string;
  readonly settler: Pick<Settler, "add">;
}

/**
 * Gives back jobs of claims whose answers did not arrive. Some of those jobs count as begun although no worker runs
 * them. If they were left until their leases expire, each would spend an attempt.
 */
export class UnheardClaims {
  private claims: { readonly numbers: Numbers; readonly lookUntil: number }[] = [];

  constructor(private readonly options: UnheardOptions) {}

  /** Records a failed claim. The server may have carried it out, or may still do so. */
  failed(numbers: Numbers): void {
    this.claims.push({ numbers, lookUntil: performance.now() + LOOK_FOR_MS });
  }

  /**
   * Looks for such jobs and gives them back; call it from time to time, even while an earlier call runs. Resolves when
   * the jobs that it found are given back. Never rejects.
   */
  async giveBack(): Promise<void> {
    const now = performance.now();
    this.claims = this.claims.filter(({ lookUntil }) => lookUntil > now);
    if (this.claims.length === 0) return;
    const { db, log, workerId, settler } = this.options;
    try {
      const found = await leasesUnder(db, { workerId, numbers: this.claims.map(({ numbers }) => numbers) });
      if (found.length > 0) log.warn({ jobs: found.length }, "claim not answered, giving its jobs back");
      await Promise.all(found.map((lease) => settler.add(givenBackEnd(lease), lease.laneNo)));
    } catch (error) {
      log.debug({ err: error }, "looking for jobs of unanswered claims again");
    }
  }
}
