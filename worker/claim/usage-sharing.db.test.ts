import { afterAll, expect, test } from "vitest";
import { FairShare, type KnownLane } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { UsageSharing } from "./usage-sharing";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("P-03 one worker's usage counts for the others within one exchange", async () => {
  const [a, b] = [await make.tenant(), await make.tenant()];
  const lanes = [a, b].map(({ tenantId }, laneNo) => lane(laneNo, tenantId));
  const crew = [1, 2].map(() => {
    const share = new FairShare();
    return { share, sharing: new UsageSharing(make.worker, share) };
  });
  const [busy, idle] = crew;
  const [first] = lanes;
  if (!busy || !idle || !first) throw new Error("two workers and a lane are needed");
  const next = () => idle.share.pick(lanes, { free: 4, mostOf: () => 4 }, () => 0.5);
  const total = async () =>
    Number((await database.query("select coalesce(sum(cost), 0)::float8 as n from app.tenant_usage"))[0]?.n);

  for (const { share } of crew) share.pick(lanes, { free: 1, mostOf: () => 1 }, () => 0.5);
  busy.share.charge([first]);
  idle.share.charge([first]);
  busy.sharing.tick(1000);
  idle.sharing.tick(1000);
  await waitFor(async () => (await total()) === 2, { what: "both to have told" });
  expect(
    next()
      .map(({ limit }) => limit)
      .sort(),
  ).toEqual([2, 2]);

  busy.share.charge(Array.from({ length: 10 }, () => first));
  busy.sharing.tick(1300);
  await waitFor(async () => (await total()) === 12, { what: "the usage of ten starts" });
  idle.share.charge([first]);
  await waitFor(
    () => {
      idle.sharing.tick(1600);
      return next().every(({ laneNo, limit }) => (laneNo === 1 ? limit === 4 : true)) && next()[0]?.laneNo === 1;
    },
    { what: "the other worker to leave the tenant that was served" },
  );
});

const lane = (laneNo: number, tenantId: string): KnownLane => ({
  laneNo,
  tenantId,
  definitionId: "d",
  queueId: 1,
  band: 2,
  tenantWeight: 1,
  queueWeight: 1,
  limited: false,
});
