import { describe, expect, test } from "vitest";
import { BAND_WEIGHTS, FairShare, type KnownLane } from "./fairness.policy";

const lane = (laneNo: number, tenantId: string, more: Partial<KnownLane> = {}): KnownLane => ({
  laneNo,
  tenantId,
  band: 2,
  definitionId: "d",
  queueId: 1,
  tenantWeight: 1,
  queueWeight: 1,
  limited: false,
  ...more,
});
const middle = () => 0.5;
const noCap = () => Number.POSITIVE_INFINITY;

/** A pseudo-random generator that gives the same numbers in every run. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One claim of at most `free` slots by a worker whose lanes always have jobs. */
function claimOnce(share: FairShare, lanes: readonly KnownLane[], free: number, random = middle): KnownLane[] {
  const known = new Map(lanes.map((one) => [one.laneNo, one]));
  const taken = share
    .pick(lanes, { free, mostOf: noCap }, random)
    .flatMap(({ laneNo, limit }) => Array.from({ length: limit }, () => known.get(laneNo)))
    .flatMap((one) => one ?? [])
    .slice(0, free);
  share.charge(taken);
  return taken;
}

/** The lanes of the first `starts` jobs, claimed `batch` at a time. */
function serve(
  share: FairShare,
  lanes: readonly KnownLane[],
  { starts, batch = 1 }: { starts: number; batch?: number },
) {
  const served: KnownLane[] = [];
  while (served.length < starts) served.push(...claimOnce(share, lanes, batch));
  return served.slice(0, starts);
}

function countBy<T>(items: readonly T[], key: (item: T) => string | number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

const byTenant = (served: readonly KnownLane[]) => countBy(served, (one) => one.tenantId);

test("tenants take turns, however many lanes one of them has", () => {
  const lanes = [...Array.from({ length: 50 }, (_, n) => lane(n + 1, "busy")), lane(100, "quiet")];
  for (const batch of [1, 7, 40]) {
    const { busy = 0, quiet = 0 } = byTenant(serve(new FairShare(), lanes, { starts: 280, batch }));
    expect(Math.abs(busy - quiet)).toBeLessThanOrEqual(1);
  }
});

test("a tenant's weight is its share of the starts", () => {
  const lanes = [lane(1, "a", { tenantWeight: 3 }), lane(2, "b"), lane(3, "c", { tenantWeight: 0.5 })];
  expect(byTenant(serve(new FairShare(), lanes, { starts: 450, batch: 9 }))).toEqual({ a: 300, b: 100, c: 50 });
});

test("a queue's weight is its share of a tenant's starts", () => {
  const lanes = [lane(1, "a", { queueId: 1, queueWeight: 4 }), lane(2, "a", { queueId: 2 }), lane(3, "b")];
  const served = serve(new FairShare(), lanes, { starts: 500, batch: 5 });
  expect(countBy(served, (one) => one.laneNo)).toEqual({ 1: 200, 2: 50, 3: 250 });
});

test("P-02 with endless critical work, each band gets its share of any 1,000 starts", () => {
  // The critical band has twenty definitions, which divide the band's share among themselves.
  const critical = Array.from({ length: 20 }, (_, n) => lane(100 + n, "t", { band: 0 }));
  const lanes = [...critical, ...[1, 2, 3, 4].map((band) => lane(band, "t", { band }))];
  const sum = BAND_WEIGHTS.reduce((total, weight) => total + weight, 0);
  for (const batch of [1, 16, 100]) {
    const served = serve(new FairShare(), lanes, { starts: 3000, batch });
    for (let from = 0; from <= 2000; from += 97) {
      const counts = countBy(served.slice(from, from + 1000), (one) => one.band);
      for (const [band, weight] of BAND_WEIGHTS.entries()) {
        const due = (1000 * weight) / sum;
        expect(Math.abs((counts[band] ?? 0) - due), `band ${band}, batch ${batch}`).toBeLessThanOrEqual(due * 0.2);
      }
    }
  }
});

test("the definitions of a band take turns", () => {
  const lanes = [lane(1, "t"), lane(2, "t"), lane(3, "t")];
  expect(countBy(serve(new FairShare(), lanes, { starts: 300, batch: 4 }), (one) => one.laneNo)).toEqual({
    1: 100,
    2: 100,
    3: 100,
  });
});

test("a tenant that was idle gets no credit for it", () => {
  const share = new FairShare();
  serve(share, [lane(1, "a")], { starts: 100 });
  expect(byTenant(serve(share, [lane(1, "a"), lane(2, "b")], { starts: 10 }))).toEqual({ a: 5, b: 5 });
});

test("a tenant keeps its debt when it has no work for a moment", () => {
  const share = new FairShare();
  const [a, b] = [lane(1, "a"), lane(2, "b")];
  serve(share, [a, b], { starts: 2 });
  share.chargeSeconds(a, 10);
  claimOnce(share, [b], 1);
  expect(byTenant(serve(share, [a, b], { starts: 8 }))).toEqual({ b: 8 });
});

test("the duration of a job is charged when it ends", () => {
  const share = new FairShare();
  const lanes = [lane(1, "slow"), lane(2, "quick")];
  const served = Array.from({ length: 400 }, () => {
    const [one] = claimOnce(share, lanes, 1);
    if (one) share.chargeSeconds(one, one.tenantId === "slow" ? 3 : 0);
    return one;
  }).flatMap((one) => one ?? []);
  expect(byTenant(served)).toEqual({ slow: 80, quick: 320 });
});

describe("one claim", () => {
  test("offers each tenant its share of the slots", () => {
    const picks = new FairShare().pick(
      [lane(1, "a"), lane(2, "a"), lane(3, "b"), lane(4, "c")],
      { free: 9, mostOf: noCap },
      middle,
    );
    const limitOf = (...numbers: number[]) =>
      picks.filter(({ laneNo }) => numbers.includes(laneNo)).reduce((sum, { limit }) => sum + limit, 0);
    expect([limitOf(1, 2), limitOf(3), limitOf(4)]).toEqual([3, 3, 3]);
  });

  test("lists lanes whose turn has not come after the others", () => {
    const lanes = Array.from({ length: 10 }, (_, n) => lane(n, `t${n}`));
    const picks = new FairShare().pick(lanes, { free: 2, mostOf: noCap }, chance(1));
    expect(picks).toHaveLength(10);
    expect(picks.every(({ limit }) => limit === 1)).toBe(true);
  });

  test("offers a tenant no more than its maximum over all its lanes", () => {
    const lanes = [lane(1, "a"), lane(2, "a", { band: 0 }), lane(3, "b")];
    const picks = new FairShare().pick(lanes, { free: 8, mostOf: (tenant) => (tenant === "a" ? 2 : 1) }, middle);
    const sum = (numbers: number[]) =>
      picks.filter(({ laneNo }) => numbers.includes(laneNo)).reduce((total, { limit }) => total + limit, 0);
    expect([sum([1, 2]), sum([3])]).toEqual([2, 1]);
  });

  test("lists 256 lanes at most", () => {
    const lanes = Array.from({ length: 2000 }, (_, n) => lane(n, `t${n % 700}`));
    expect(new FairShare().pick(lanes, { free: 500, mostOf: noCap }, chance(3))).toHaveLength(256);
  });
});

/** Jain's index: 1 = all equal, 1/n = one has everything. */
const jain = (counts: readonly number[]): number =>
  counts.reduce((sum, n) => sum + n, 0) ** 2 / (counts.length * counts.reduce((sum, n) => sum + n * n, 0));

interface Simulation {
  readonly workers: number;
  readonly slots: number;
  readonly shared: boolean;
  readonly seed: number;
}

/**
 * Simulates workers side by side for 30 seconds, in steps of 10 ms. Tenants always have jobs, of random length.
 * Returns the starts of each tenant in each 10 s window.
 */
function simulate({ workers, slots, shared, seed }: Simulation): number[][] {
  const random = chance(seed);
  const lanes = Array.from({ length: 12 }, (_, n) => lane(n, `t${n}`));
  const crew = Array.from({ length: workers }, () => ({ share: new FairShare(), endings: [] as number[] }));
  const windows: number[][] = [];
  for (let now = 0; now < 30_000; now += 10) {
    if (now % 10_000 === 0) windows.push(lanes.map(() => 0));
    for (const worker of crew) {
      worker.endings = worker.endings.filter((end) => end > now);
      const free = slots - worker.endings.length;
      if (free === 0) continue;
      // Wake-ups and polls show a worker only some of the lanes at a time.
      const seen = lanes.filter(() => random() < 0.6);
      for (const { tenantId } of claimOnce(worker.share, seen, free, random)) {
        const counts = windows.at(-1);
        const index = Number(tenantId.slice(1));
        if (counts) counts[index] = (counts[index] ?? 0) + 1;
        worker.endings.push(now + 20 + random() * 160);
      }
    }
    if (shared && now % 250 === 0) exchange(crew.map(({ share }) => share));
  }
  return windows;
}

function exchange(shares: readonly FairShare[]): void {
  const served = shares.map((share) => share.takeUsage());
  for (const [index, share] of shares.entries())
    share.chargeOthers(served.filter((_, other) => other !== index).flat());
}

test("four workers that share their usage are fair together: Jain ≥ 0.95 in every 10 s", () => {
  for (const seed of [1, 2, 3]) {
    for (const counts of simulate({ workers: 4, slots: 5, shared: true, seed })) {
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(20);
      expect(jain(counts)).toBeGreaterThanOrEqual(0.95);
    }
  }
});

test("shared usage includes the duration of jobs that ended since the last claim", () => {
  const share = new FairShare();
  const [only] = claimOnce(share, [lane(1, "a")], 1);
  if (!only) throw new Error("nothing was claimed");
  share.takeUsage();
  share.chargeSeconds(only, 2);
  share.chargeSeconds(only, 3);
  expect(share.takeUsage()).toEqual([{ tenantId: "a", queueId: 1, cost: 5 }]);
  expect(share.takeUsage()).toEqual([]);
});

test("workers that support different definitions are fair only if they share their usage", () => {
  // Half of the workers support tenant a only, so b's share has to come from the other half.
  const starts = (shared: boolean) => {
    const crew = Array.from({ length: 4 }, () => new FairShare());
    const counts = { a: 0, b: 0 };
    for (let turn = 0; turn < 1000; turn += 1) {
      for (const [index, share] of crew.entries()) {
        const lanes = index < 2 ? [lane(1, "a")] : [lane(1, "a"), lane(2, "b")];
        for (const { tenantId } of claimOnce(share, lanes, 1)) counts[tenantId as "a" | "b"] += 1;
      }
      if (shared && turn % 10 === 0) exchange(crew);
    }
    return jain([counts.a, counts.b]);
  };
  expect(starts(false)).toBeLessThan(0.85);
  expect(starts(true)).toBeGreaterThan(0.99);
});
