import { expect, test } from "vitest";
import { FairShare, type KnownLane } from "./fairness";

const lane = (laneNo: number, tenantId: string, band = 2): KnownLane => ({
  laneNo,
  tenantId,
  band,
  definitionId: "d",
  queueId: 1,
  tenantWeight: 1,
  queueWeight: 1,
  limited: false,
});
const middle = () => 0.5;

/** Claims one place at a time, as a worker does whose lanes always have work. */
function serve(share: FairShare, lanes: readonly KnownLane[], places: number): KnownLane[] {
  return Array.from({ length: places }, () => {
    const [pick] = share.pick(lanes, 1, middle);
    const served = lanes.find((one) => one.laneNo === pick?.laneNo);
    if (!served) throw new Error("nothing was picked");
    share.charge([served]);
    return served;
  });
}

function countBy<T>(items: readonly T[], key: (item: T) => string | number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

test("tenants are served in turn, however many lanes one of them has", () => {
  const lanes = [...Array.from({ length: 50 }, (_, n) => lane(n + 1, "busy")), lane(100, "quiet")];
  expect(countBy(serve(new FairShare(), lanes, 100), (one) => one.tenantId)).toEqual({ busy: 50, quiet: 50 });
});

test("P-02 every band of a tenant gets its share: 16, 8, 4, 2, 1 of 31", () => {
  const lanes = [0, 1, 2, 3, 4].map((band) => lane(band + 1, "t", band));
  const counts = countBy(serve(new FairShare(), lanes, 310), (one) => one.band);
  for (const [band, weight] of [16, 8, 4, 2, 1].entries()) {
    expect(Math.abs((counts[band] ?? 0) - weight * 10)).toBeLessThanOrEqual(weight * 2);
  }
});

test("a tenant that comes back from idle has no credit", () => {
  const share = new FairShare();
  const both = [lane(1, "a"), lane(2, "b")];
  serve(share, [lane(1, "a")], 100);
  expect(countBy(serve(share, both, 10), (one) => one.tenantId)).toEqual({ a: 5, b: 5 });
});

test("one claim offers each tenant its part of the places first", () => {
  const picks = new FairShare().pick([lane(1, "a"), lane(2, "a"), lane(3, "b"), lane(4, "c")], 9, middle);
  expect(picks.map((pick) => pick.limit)).toEqual([3, 3, 3, 3]);
  expect(new Set(picks.slice(0, 3).map((pick) => pick.laneNo)).size).toBe(3);
  expect(picks.slice(0, 3).filter((pick) => pick.laneNo < 3)).toHaveLength(1);
});
