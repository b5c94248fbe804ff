import { expect } from "vitest";
import { openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const TENANTS = 4;
const JOBS_EACH = pick({ short: 60, long: 2500 });
const AWAY_MS = pick({ short: 3000, long: 60_000 });
const WORKERS = 2;

suite("R-6 workers that start again before a backlog drain it, and every tenant gets its share from the start", async (build) => {
  const arena = await openArena();
  const tenants = await Promise.all(Array.from({ length: TENANTS }, () => arena.factory.tenant()));
  await arena.startScheduler();
  const first = await Promise.all(Array.from({ length: WORKERS }, () => arena.startWorker(build)));
  await arena.enqueueAll(10);
  for (const worker of first) worker.signal("SIGKILL");
  await Promise.all(first.map(({ exited }) => exited));
  // The tenants' backlogs are enqueued one after the other. The first tenant must not be served first.
  for (const scope of tenants) await arena.enqueueAll(JOBS_EACH, () => ({ definitionKey: "speak" }), scope);
  await arena.pause(AWAY_MS, AWAY_MS);
  await Promise.all(Array.from({ length: WORKERS }, () => arena.startWorker(build)));
  const verify = async () => {
    // The first half of the starts, while every tenant still had work.
    const rows = await arena.database.query<{ tenant_id: string }>(
      "select tenant_id from app.job_attempts where tenant_id <> $2 order by started_at limit $1",
      [(TENANTS * JOBS_EACH) / 2, arena.scope.tenantId],
    );
    const shares = tenants.map(({ tenantId }) => {
      const own = rows.filter(({ tenant_id }) => tenant_id === tenantId);
      return own.length / (JOBS_EACH / 2);
    });
    console.info(`shares of the first half, 1 is fair: ${shares.map((share) => share.toFixed(2)).join(", ")}`);
    for (const share of shares) expect(share > 0.5 && share < 2, String(shares)).toBe(true);
  };
  return { arena, told: `${TENANTS * JOBS_EACH} jobs waited ${AWAY_MS} ms for a worker`, verify };
});
