import { expect, test } from "vitest";
import { TimeShare } from "./time-share";

test("after its burst a tenant gets its share of the elapsed time, whatever others use", () => {
  const share = new TimeShare({ burstMs: 2000, oneIn: 10 });
  const taken = { busy: 0, quiet: 0 };
  let quietWaited = 0;
  for (let now = 0; now < 1_000_000; now += 100) {
    for (const tenant of ["busy", "quiet"] as const) {
      const ms = tenant === "busy" ? 500 : 5;
      if (!share.mayBegin(tenant, now)) {
        if (tenant === "quiet") quietWaited += 1;
        continue;
      }
      share.took(tenant, ms, now);
      taken[tenant] += ms;
    }
  }
  expect(taken.busy).toBeGreaterThan(90_000);
  expect(taken.busy).toBeLessThan(103_000);
  expect([quietWaited, taken.quiet]).toEqual([0, 50_000]);
});

test("without a share there is no waiting", () => {
  const share = new TimeShare({ burstMs: 10, oneIn: 0 });
  share.took("busy", 1000, 0);
  expect(share.mayBegin("busy", 0)).toBe(true);
});
