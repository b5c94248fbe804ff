import type { ClaimedJob, KnownLane } from "@/lib/queue/worker";
import { SlotsByTenant } from "./slots-by-tenant";
import type { Supported } from "./supported";

/**
 * The deliveries of webhooks that a worker has claimed. They run beside its slots while they wait for receivers, at most
 * `most` of them. A tenant has at most half of those that other tenants leave free. With `most` = 0 they are not
 * limited, because they use slots.
 */
export class DeliverySlots {
  private readonly slots = new SlotsByTenant();
  private readonly claimed = new Set<ClaimedJob>();

  constructor(private readonly most: number) {}

  took(jobs: readonly ClaimedJob[], served: Supported): void {
    for (const job of jobs) {
      if (!served.isWebhook(job)) continue;
      this.claimed.add(job);
      this.slots.took(job.tenantId);
    }
  }

  left(job: ClaimedJob): void {
    if (this.claimed.delete(job)) this.slots.left(job.tenantId);
  }

  /** Leaves out lanes with deliveries for which no slot is left. */
  open(lanes: readonly KnownLane[], served: Supported): KnownLane[] {
    if (this.most === 0) return [...lanes];
    return lanes.filter((lane) => !served.isWebhook(lane) || this.slots.halfOf(lane.tenantId, this.most) > 0);
  }

  /** Returns a function for the lanes of one claim, which reduces the jobs of a lane to those for which slots are left. */
  granter(served: Supported): (lane: KnownLane, jobs: number) => number {
    const slots = this.slots.copy();
    return (lane, jobs) => {
      if (this.most === 0 || !served.isWebhook(lane)) return jobs;
      const granted = Math.min(jobs, slots.halfOf(lane.tenantId, this.most));
      slots.took(lane.tenantId, granted);
      return granted;
    };
  }
}
