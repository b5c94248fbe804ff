/** Which lanes a worker asks for next: stride scheduling, tenants first, then the lanes of a tenant in turn. */

export interface KnownLane {
  readonly laneNo: number;
  readonly tenantId: string;
  readonly definitionId: string;
  readonly queueId: number;
  readonly band: number;
  readonly tenantWeight: number;
  readonly queueWeight: number;
  /** It has limits, so that it is claimed in another way. */
  readonly limited: boolean;
}

export interface LanePick {
  readonly laneNo: number;
  readonly limit: number;
}

const BAND_WEIGHTS = [16, 8, 4, 2, 1] as const;

/** Bounds the claim statement; what is left out comes first the next time, since it was not charged. */
const MAX_LANES_PER_CLAIM = 256;

/**
 * Remembers how much each tenant, and each lane within its tenant, has been served, and picks the least served first.
 * A newcomer starts at the smallest pass of those present, so that time spent idle is no credit.
 * Holds no clock; ties are broken by the random number that is handed in.
 */
export class FairShare {
  private readonly tenantPass = new Map<string, number>();
  private readonly lanePass = new Map<number, number>();

  /**
   * Lists the lanes to claim from, in order, for a claim of at most `capacity` jobs in all. The least served tenants come
   * first with one lane each, then their next lanes, so that a tenant's many lanes take only what the others leave.
   */
  pick(lanes: readonly KnownLane[], capacity: number, random: () => number): LanePick[] {
    const byTenant = groupByTenant(lanes);
    this.forgetAbsent(byTenant, lanes);
    const tenants = [...byTenant.entries()]
      .map(([tenantId, own]) => ({ own, pass: this.passOf(this.tenantPass, tenantId), tie: random() }))
      .sort((a, b) => a.pass - b.pass || a.tie - b.tie)
      .map(({ own }) => this.inTurn(own, random));
    const limit = Math.max(1, Math.ceil(capacity / Math.max(1, tenants.length)));
    const rounds = Math.max(0, ...tenants.map((own) => own.length));
    return Array.from({ length: rounds }, (_, round) => tenants.flatMap((own) => own.slice(round, round + 1)))
      .flat()
      .slice(0, MAX_LANES_PER_CLAIM)
      .map((lane) => ({ laneNo: lane.laneNo, limit }));
  }

  /** Charges what was really claimed. */
  charge(claimed: readonly { readonly laneNo: number; readonly tenantId: string; readonly band: number }[]): void {
    for (const job of claimed) {
      this.tenantPass.set(job.tenantId, this.passOf(this.tenantPass, job.tenantId) + 1);
      this.lanePass.set(job.laneNo, this.passOf(this.lanePass, job.laneNo) + 1 / (BAND_WEIGHTS[job.band] ?? 1));
    }
  }

  private inTurn(lanes: readonly KnownLane[], random: () => number): KnownLane[] {
    return lanes
      .map((lane) => ({ lane, pass: this.passOf(this.lanePass, lane.laneNo), tie: random() }))
      .sort((a, b) => a.pass - b.pass || a.tie - b.tie)
      .map(({ lane }) => lane);
  }

  private passOf<K>(passes: Map<K, number>, key: K): number {
    const known = passes.get(key);
    if (known !== undefined) return known;
    const start = passes.size === 0 ? 0 : Math.min(...passes.values());
    passes.set(key, start);
    return start;
  }

  private forgetAbsent(byTenant: ReadonlyMap<string, unknown>, lanes: readonly KnownLane[]): void {
    const present = new Set(lanes.map((lane) => lane.laneNo));
    for (const tenantId of this.tenantPass.keys()) if (!byTenant.has(tenantId)) this.tenantPass.delete(tenantId);
    for (const laneNo of this.lanePass.keys()) if (!present.has(laneNo)) this.lanePass.delete(laneNo);
  }
}

function groupByTenant(lanes: readonly KnownLane[]): Map<string, KnownLane[]> {
  const groups = new Map<string, KnownLane[]>();
  for (const lane of lanes) {
    const own = groups.get(lane.tenantId);
    if (own) own.push(lane);
    else groups.set(lane.tenantId, [lane]);
  }
  return groups;
}
