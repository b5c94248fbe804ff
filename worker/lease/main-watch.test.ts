import { expect, test } from "vitest";
import { MainPulse, MainWatch } from "./main-watch";

function watch() {
  const calls: string[] = [];
  const one = new MainWatch({ ask: () => calls.push("asked"), onSilent: () => calls.push("silent") });
  const turns = (count: number) => {
    for (let n = 0; n < count; n += 1) one.turn();
  };
  return { one, calls, turns };
}

test("LEASE-01 a main thread that does not answer for thirty turns after a lost lease is reported once", () => {
  const { one, calls, turns } = watch();
  one.leaseLost();
  turns(29);
  expect(calls).toEqual(["asked"]);
  turns(100);
  expect(calls).toEqual(["asked", "silent"]);
});

test("a main thread that answers is not reported, and is asked again after the next lost lease", () => {
  const { one, calls, turns } = watch();
  one.leaseLost();
  one.leaseLost();
  turns(20);
  one.answered();
  turns(100);
  one.leaseLost();
  turns(29);
  one.answered();
  expect(calls).toEqual(["asked", "asked"]);
});

test("without a lost lease the main thread is not asked", () => {
  const { calls, turns } = watch();
  turns(1000);
  expect(calls).toEqual([]);
});

test("a main thread without a heartbeat for five minutes keeps no leases until its next heartbeat", () => {
  const pulse = new MainPulse();
  const turns = (count: number) => Array.from({ length: count }, () => pulse.turn());
  expect(turns(300)).not.toContain(false);
  expect(turns(100)).not.toContain(true);
  pulse.beat();
  expect(turns(300)).not.toContain(false);
});
