import { expect, test } from "vitest";
import { createLimit, updateLimit } from "@/lib/queue/testing";
import { type Bound, inspect } from "@/lib/testing/checker";
import type { TestProcess } from "@/lib/testing/processes";
import { type Arena, openArena } from "./arena";
import { pick } from "./profile";

const JOBS = pick({ short: 100, long: 3000 });
const KILLS = pick({ short: 2, long: 30 });
const WORKERS = 3;
const LIMIT_MS = pick({ short: 300_000, long: 60 * 60_000 });
const DRAIN_MS = pick({ short: 120_000, long: 20 * 60_000 });

/** Creates limits of each kind over one queue. The checker takes them from the returned bounds only. */
async function limit({ factory, scope }: Arena): Promise<{ readonly id: number; readonly bounds: Bound[] }> {
  const { platform } = factory;
  const { id } = await createLimit(platform, { scope: "definition", definition_key: "doze", max_running: 3 });
  await createLimit(platform, { scope: "tenant_definition", definition_key: "speak", max_running: 2 });
  await createLimit(platform, { scope: "definition", definition_key: "fail", starts_per_second: 20, burst: 5 });
  return {
    id,
    bounds: [
      { name: "speak of one tenant", definitionKey: "speak", tenantId: scope.tenantId, running: 2 },
      { name: "starts of fail", definitionKey: "fail", starts: { perSecond: 20, burst: 5 } },
    ],
  };
}

/** Workers compete for limited lanes and are killed. Midway, one limit is lowered. */
async function play(arena: Arena): Promise<Bound[]> {
  const { id, bounds } = await limit(arena);
  await arena.startScheduler();
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, () => arena.startWorker({ WORKER_CONCURRENCY: "8" })),
  );
  await arena.enqueueAll(JOBS / 2);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await arena.pause(500, 1500);
    const [victim] = workers.splice(kill % WORKERS, 1, await arena.startWorker({ WORKER_CONCURRENCY: "8" })) as [
      TestProcess,
    ];
    victim.signal("SIGKILL");
    await victim.exited;
  }
  await updateLimit(arena.factory.platform, { id, patch: { max_running: 1 } });
  const [row] = await arena.database.query<{ now: Date }>("select clock_timestamp() as now");
  await arena.enqueueAll(JOBS / 2);
  await arena.drained(DRAIN_MS);
  // A claim that had counted before the change may still commit after it.
  const lowered = new Date((row?.now.getTime() ?? 0) + 1000);
  return [
    ...bounds,
    { name: "doze", definitionKey: "doze", running: 3 },
    { name: "doze, lowered", definitionKey: "doze", running: 1, from: lowered },
  ];
}

test("limits are never exceeded by one, by any of several workers that are killed, nor when one is lowered meanwhile", {
  timeout: LIMIT_MS,
}, async () => {
  const arena = await openArena();
  const bounds = await play(arena);
  const { counts, attempts } = await arena.check({ bounds });
  console.info(`${KILLS} kills, ${attempts} attempts: ${JSON.stringify(counts)}`);
  await arena.stopAll();
});

test("in a build that counts without locking the limits, they are exceeded, and the checker says so", {
  timeout: LIMIT_MS,
}, async () => {
  const arena = await openArena();
  const [made] = await arena.database.query<{ text: string }>(
    "select pg_get_functiondef(oid) as text from pg_proc where proname = 'reserve_slots'",
  );
  const plain = made?.text.replace(/order by c\.id\s+for update\b/, "order by c.id") ?? "";
  expect(plain).not.toBe(made?.text);
  // Concurrent counts are rare on a quiet machine. A pause between counting and claiming makes them common.
  await arena.database.query(plain.replace(/v_now := /, "perform pg_sleep(0.02); v_now := "));
  const bounds = await play(arena);
  const { counts } = await inspect(arena.database, { ...arena.evidence(), bounds });
  const exceeded = Object.entries(counts).filter(([rule, n]) => rule.startsWith("limit ") && n > 0);
  expect(exceeded.length, JSON.stringify(counts)).toBeGreaterThan(0);
  await arena.stopAll();
});
