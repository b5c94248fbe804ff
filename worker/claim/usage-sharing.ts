import type { Database } from "@/lib/db";
import { type FairShare, shareUsage, type Usage } from "@/lib/queue/worker";

const EVERY_MS = 250;
/** Totals older than this no longer describe the present. */
const STALE_MS = 2000;

const keyOf = ({ tenantId, queueId }: Usage): string => `${tenantId}:${queueId}`;

/**
 * Keeps workers fair to each other: shares this worker's usage through the database and charges the usage of the
 * others. Sends nothing while there is no usage to share. A failure costs some fairness and nothing else.
 */
export class UsageSharing {
  private readonly known = new Map<string, number>();
  private sharedAt = Number.NEGATIVE_INFINITY;
  private underWay = false;

  constructor(
    private readonly db: Database,
    private readonly share: FairShare,
  ) {}

  /** Shares usage if the last time was a quarter of a second ago or longer. Call it often; it never waits. */
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
