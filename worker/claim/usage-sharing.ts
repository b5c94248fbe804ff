import type { Database } from "@/lib/db";
import { type FairShare, shareUsage, type Usage } from "@/lib/queue/worker";

const EVERY_MS = 250;
/** After a longer silence the totals say nothing about the present any more. */
const STALE_MS = 2000;

const keyOf = ({ tenantId, queueId }: Usage): string => `${tenantId}:${queueId}`;

/**
 * Keeps this worker fair together with the others: tells through the database what it served, and charges what they
 * did. Sends nothing while it has nothing to tell. A failure costs some fairness and nothing else.
 */
export class UsageSharing {
  private readonly known = new Map<string, number>();
  private sharedAt = Number.NEGATIVE_INFINITY;
  private underWay = false;

  constructor(
    private readonly db: Database,
    private readonly share: FairShare,
  ) {}

  /** To be called often: shares at most every quarter of a second, and never waits. */
  tick(now = performance.now()): void {
    if (this.underWay || now - this.sharedAt < EVERY_MS) return;
    const mine = this.share.takeUsage();
    if (mine.length === 0) return;
    if (now - this.sharedAt > STALE_MS) this.known.clear();
    this.sharedAt = now;
    this.underWay = true;
    shareUsage(this.db, mine)
      .then((totals) => this.share.chargeOthers(this.fromOthers(mine, totals)))
      .catch(() => this.known.clear())
      .finally(() => {
        this.underWay = false;
      });
  }

  private fromOthers(mine: readonly Usage[], totals: readonly Usage[]): Usage[] {
    const own = new Map(mine.map((served) => [keyOf(served), served.cost]));
    return totals.flatMap((total) => {
      const key = keyOf(total);
      const before = this.known.get(key);
      this.known.set(key, total.cost);
      const cost = before === undefined ? 0 : total.cost - before - (own.get(key) ?? 0);
      return cost > 0 ? [{ ...total, cost }] : [];
    });
  }
}
