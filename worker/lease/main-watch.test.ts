import { expect, test } from "vitest";
import { MainPulse, MainWatch } from "./main-watch";

function watch() {
  const told: string[] = [];
  const one = new MainWatch({ ask: () => told.push("asked"), onSilent: () => told.push("silent") });
  const turns = (count: number) => {
    for (let n = 0; n < count; n += 1) one.turn();
  };
  return { one, told, turns };
}

test("LEASE-01 a main thread that does not answer for thirty turns after a lost lease is reported once", () => {
  const { one, told, turns } = watch();
  one.leaseLost();
  turns(29);
  expect(told).toEqual(["asked"]);
  turns(100);
  expect(told).toEqual(["asked", "silent"]);
});

test("a main thread that answers is not reported, and is asked again after the next lost lease", () => {
  const { one, told, turns } = watch();
  one.leaseLost();
  one.leaseLost();
  turns(20);
  one.answered();
  turns(100);
  one.leaseLost();
  turns(29);
  one.answered();
  expect(told).toEqual(["asked", "asked"]);
});

test("without a lost lease the main thread is not asked", () => {
  const { told, turns } = watch();
  turns(1000);
  expect(told).toEqual([]);
});

test("a main thread without a heartbeat for five minutes keeps no leases until its next heartbeat", () => {
  const pulse = new MainPulse();
  const turns = (count: number) => Array.from({ length: count }, () => pulse.turn());
  expect(turns(300)).not.toContain(false);
  expect(turns(100)).not.toContain(true);
  pulse.beat();
  expect(turns(300)).not.toContain(false);
});
