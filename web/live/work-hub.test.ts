import { expect, test } from "vitest";
import { type WaitedLane, WorkHub } from "./work-hub";

const LANES: WaitedLane[] = [
  { laneNo: 1, tenantId: "a", definitionKey: "far", queue: "default" },
  { laneNo: 2, tenantId: "b", definitionKey: "away", queue: "default" },
];

function setUp() {
  const state = { asked: [] as number[][], failing: false };
  const hub = new WorkHub(
    async (laneNos) => {
      state.asked.push([...laneNos]);
      if (state.failing) throw new Error("down");
      return LANES.filter(({ laneNo }) => laneNos.includes(laneNo));
    },
    () => {},
  );
  const woken: string[] = [];
  const wait = (name: string, key: string) =>
    hub.add({ wants: (lane) => lane.definitionKey === key, wake: (reason) => woken.push(`${name} ${reason}`) });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { hub, state, woken, wait, settled };
}

test("a notification wakes only the claims that its lanes concern, and each lane is looked up once", async () => {
  const { hub, state, woken, wait, settled } = setUp();
  wait("far", "far");
  wait("away", "away");
  hub.work("1,9");
  await settled();
  hub.work("1");
  hub.work("9");
  hub.work("2");
  await settled();
  expect(woken).toEqual(["far work", "far work", "away work"]);
  expect(state.asked).toEqual([[1, 9], [2]]);
});

test("`*`, a failed lookup and a cancel wake all claims, except those that left", async () => {
  const { hub, state, woken, wait, settled } = setUp();
  const leave = wait("far", "far");
  wait("away", "away");
  hub.work("*");
  hub.cancel();
  leave();
  state.failing = true;
  hub.work("5");
  await settled();
  expect(woken).toEqual(["far work", "away work", "far cancel", "away cancel", "away work"]);
});

test("without waiting claims no lane is looked up", async () => {
  const { hub, state, settled } = setUp();
  hub.work("1");
  await settled();
  expect(state.asked).toEqual([]);
});
