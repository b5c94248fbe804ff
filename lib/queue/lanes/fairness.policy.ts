/**
 * Fair claiming: which lanes a worker claims from next. A lane is one tenant's jobs of one definition, queue and
 * priority band. Slots are shared by weight between tenants, then a tenant's queues, their bands, and a band's lanes.
 * A tenant's share does not depend on how many lanes or jobs it has, and idle time earns no credit. Workers publish
 * their usage, so the shares hold across workers. Limits and pauses are enforced elsewhere.
 * Start with `FairShare`. `stride.policy.ts` is the algorithm, `poll-work.ts` finds lanes with ready jobs,
 * `share-usage.ts` exchanges usage, and `whole-looks.policy.ts` bounds polling while an old snapshot is held.
 */
import { Contender, InTurn } from "./stride.policy";

export interface KnownLane {
  readonly laneNo: number;
  readonly tenantId: string;
  readonly definitionId: string;
  readonly queueId: number;
  readonly band: number;
  readonly tenantWeight: number;
  readonly queueWeight: number;
  /** A limit applies, so the lane needs the claim that checks limits. */
  readonly limited: boolean;
}

export interface LanePick {
  readonly laneNo: number;
  readonly limit: number;
}

/** What a tenant's jobs of one queue have consumed: one per job, and its run time in seconds. */
export interface Usage {
  readonly tenantId: string;
  readonly queueId: number;
  readonly cost: number;
}

export interface FreeSlots {
  /** The most jobs that the claim may take. */
  readonly free: number;
  /** The most jobs that the claim may take of one tenant. */
  readonly mostOf: (tenantId: string) => number;
}

/** Weights of the bands critical, high, normal, low and background. */
export const BAND_WEIGHTS = [16, 8, 4, 2, 1] as const;

/** Bounds the claim statement. Lanes left out are not charged, so they come first in the next claim. */
const MAX_LANES_PER_CLAIM = 256;

type Node = Contender<KnownLane>;

/**
 * Records the usage of each tenant, its queues, their bands and lanes, and gives the next slots to those with the least
 * usage for their weight.
 * Workers are fair together when each sends its usage to the others (`takeUsage`, `chargeOthers`). Reads no clock;
 * randomness is passed in and breaks ties.
 */
export class FairShare {
  private readonly tenants: Node = new Contender();
  private readonly unshared = new Map<string, Usage>();
  /** Seconds not yet charged. They are batched, because thousands of jobs end between two claims. */
  private readonly spent = new Map<KnownLane, number>();
  private round = 0;

  /**
   * Lists the lanes to claim from, in order, with the slots that each is due.
   * Lanes that are due none follow with one slot each, because earlier lanes may have fewer jobs than expected.
   */
  pick(lanes: readonly KnownLane[], slots: FreeSlots, random: () => number): LanePick[] {
    this.chargeSpent();
    this.enter(lanes, random);
    const picks = new Map<number, number>();
    const left = new Map<Node, number>();
    const turns = new InTurn(this.tenants.competing);
    const leftOf = (tenant: Node): number => left.get(tenant) ?? slots.mostOf(tenantOf(tenant));
    for (let slot = 0; slot < slots.free && picks.size < MAX_LANES_PER_CLAIM; ) {
      const tenant = turns.take();
      if (!tenant) break;
      if (leftOf(tenant) < 1) continue;
      const lane = planOne(tenant);
      picks.set(lane.laneNo, (picks.get(lane.laneNo) ?? 0) + 1);
      left.set(tenant, leftOf(tenant) - 1);
      slot += 1;
      turns.add(tenant);
    }
    for (const lane of this.others(lanes, picks)) {
      const tenant = this.tenants.child(lane.tenantId);
      if (picks.size >= MAX_LANES_PER_CLAIM) break;
      if (!tenant || leftOf(tenant) < 1) continue;
      left.set(tenant, leftOf(tenant) - 1);
      picks.set(lane.laneNo, 1);
    }
    return [...picks].map(([laneNo, limit]) => ({ laneNo, limit }));
  }

  /** Charges the jobs that were actually claimed: one per job. */
  charge(claimed: readonly KnownLane[]): void {
    const jobs = new Map<KnownLane, number>();
    for (const lane of claimed) jobs.set(lane, (jobs.get(lane) ?? 0) + 1);
    for (const [lane, count] of jobs) this.serve(lane, count);
  }

  /** Charges a job's run time when the job ends, so long jobs count for more than short ones. */
  chargeSeconds(lane: KnownLane, seconds: number): void {
    this.spent.set(lane, (this.spent.get(lane) ?? 0) + seconds);
  }

  /** Returns this worker's usage since the last call, to be sent to the other workers. */
  takeUsage(): Usage[] {
    this.chargeSpent();
    const served = [...this.unshared.values()];
    this.unshared.clear();
    return served;
  }

  /** Charges the usage of other workers. */
  chargeOthers(served: readonly Usage[]): void {
    for (const { tenantId, queueId, cost } of served) {
      const tenant = this.tenants.child(tenantId);
      tenant?.serve(cost);
      tenant?.child(queueId)?.serve(cost);
    }
  }

  private enter(lanes: readonly KnownLane[], random: () => number): void {
    this.round += 1;
    const round = { no: this.round, random };
    this.tenants.clear();
    for (const lane of lanes) {
      const tenant = this.tenants.enter(lane.tenantId, lane.tenantWeight, round);
      const queue = tenant.enter(lane.queueId, lane.queueWeight, round);
      const band = queue.enter(lane.band, BAND_WEIGHTS[lane.band] ?? 1, round);
      band.enter(lane.laneNo, 1, round).leaf = lane;
      tenant.leaf = lane;
    }
    this.tenants.begin(this.round);
  }

  /** Lanes without a slot. Each tenant gets one before any gets a second; tenants with the least usage come first. */
  private others(lanes: readonly KnownLane[], picks: ReadonlyMap<number, number>): KnownLane[] {
    if (picks.size >= MAX_LANES_PER_CLAIM || lanes.length === picks.size) return [];
    const nth = new Map<string, number>();
    return lanes
      .filter(({ laneNo }) => !picks.has(laneNo))
      .map((lane) => {
        const turn = nth.get(lane.tenantId) ?? 0;
        nth.set(lane.tenantId, turn + 1);
        return { lane, turn, planned: this.tenants.child(lane.tenantId)?.planned ?? 0 };
      })
      .sort((a, b) => a.turn - b.turn || a.planned - b.planned)
      .map(({ lane }) => lane);
  }

  private chargeSpent(): void {
    for (const [lane, seconds] of this.spent) this.serveTenant(lane, seconds);
    this.spent.clear();
  }

  private serve(lane: KnownLane, cost: number): void {
    const queue = this.serveTenant(lane, cost);
    const band = queue?.child(lane.band);
    band?.serve(cost);
    band?.child(lane.laneNo)?.serve(cost);
  }

  private serveTenant({ tenantId, queueId }: KnownLane, cost: number): Node | undefined {
    const key = `${tenantId}:${queueId}`;
    this.unshared.set(key, { tenantId, queueId, cost: (this.unshared.get(key)?.cost ?? 0) + cost });
    const tenant = this.tenants.child(tenantId);
    const queue = tenant?.child(queueId);
    tenant?.serve(cost);
    queue?.serve(cost);
    return queue;
  }
}

const tenantOf = (tenant: Node): string => tenant.leaf?.tenantId ?? "";

/** Gives the tenant's next slot to the lane that is due, and counts it as planned. */
function planOne(tenant: Node): KnownLane {
  tenant.plan();
  let node: Node = tenant;
  for (let next = node.next(); next; next = node.next()) {
    next.plan();
    node = next;
  }
  if (!node.leaf) throw new Error("a tenant competes without a lane");
  return node.leaf;
}
