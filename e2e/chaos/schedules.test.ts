import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { scheduleFixture } from "@/lib/testing/schedules";
import { openStage } from "../processes/stage";
import { isLong, pick, seed } from "./profile";
import { type FaultyLine, openProxy } from "./proxy";
import { randomFrom } from "./random";

const SCHEDULERS = 3;
const TRIGGERS = 100;
/** Instants of each trigger, one a second. */
const RUNS = pick({ short: 11, long: 400 });
/** In the long form as many as the time allows, in any order. */
const FAULTS = ["kill", "cut off", "end sessions"] as const;
const ALL_FAULTS = ["kill", "end sessions", "cut off", "freeze", "cut"] as const;
type Fault = (typeof ALL_FAULTS)[number];
/** A session that is silent for five seconds is ended. */
const SILENT_MS = 6500;
const random = randomFrom(seed);

const stage = await openStage();
const { query } = stage.database;
const schedules = scheduleFixture(stage.database, stage.factory);

interface Scheduler {
  readonly process: TestProcess;
  readonly line: FaultyLine;
}

const running: Scheduler[] = [];
async function start(): Promise<void> {
  const line = await openProxy(stage.database.adminUrl);
  running.push({ process: await stage.startScheduler({ DATABASE_URL: line.url }), line });
}
afterAll(async () => {
  for (const { process, line } of running) {
    process.signal("SIGKILL");
    await line.close();
  }
});

const leader = () =>
  waitFor(
    async () => {
      const [row] = await query<{ leader_id: string | null }>("select leader_id from app.leader");
      return running.find(({ process }) => row?.leader_id?.split(":")[1] === String(process.pid));
    },
    { withinMs: 60_000, what: "a leader" },
  );

async function play(fault: Fault): Promise<void> {
  const victim = await leader();
  switch (fault) {
    case "kill":
      victim.process.signal("SIGKILL");
      running.splice(running.indexOf(victim), 1);
      await victim.line.close();
      return start();
    case "end sessions":
      await query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
         and application_name in ('leasehold leadership', 'leasehold scheduler')`,
      );
      return;
    case "cut":
      return victim.line.cut();
    case "cut off":
      victim.line.hole(true);
      await sleep(SILENT_MS);
      return victim.line.hole(false);
    case "freeze":
      victim.process.signal("SIGSTOP");
      await sleep(SILENT_MS);
      return victim.process.signal("SIGCONT");
  }
}

async function makeTriggers(): Promise<Map<string, number>> {
  const first = Math.ceil(Date.now() / 1000) * 1000 + 1000;
  const made = new Map<string, number>();
  for (let n = 0; n < TRIGGERS; n += 1) {
    const at = first + Math.floor((n * 1000) / TRIGGERS);
    const id = await schedules.trigger(stage.scope, {
      schedule_type: "interval",
      interval_ms: 1000,
      anchor_at: new Date(at),
      next_run_at: new Date(at),
      max_runs: RUNS,
      catch_up: "all",
      catch_up_limit: 1000,
    });
    made.set(id, at);
  }
  return made;
}

/** Instants that have not exactly one firing and, with it, one job. */
async function breaches(triggers: ReadonlyMap<string, number>): Promise<string[]> {
  const rows = await query<{ trigger_id: string; at: number; firings: number; jobs: number }>(
    `select coalesce(f.trigger_id::text, j.source_ref) as trigger_id, coalesce(f.at, j.at) as at,
       coalesce(f.n, 0) as firings, coalesce(j.n, 0) as jobs
     from (select trigger_id, extract(epoch from fire_at)::float8 * 1000 as at, count(*)::int as n
           from app.trigger_firings where outcome = 'enqueued' group by 1, 2) f
     full join (select source_ref, extract(epoch from (metadata ->> 'instant')::timestamptz)::float8 * 1000 as at,
           count(*)::int as n from app.jobs group by 1, 2) j on j.source_ref = f.trigger_id::text and j.at = f.at`,
  );
  const seen = new Map(rows.map(({ trigger_id, at, firings, jobs }) => [`${trigger_id} ${at}`, `${firings} ${jobs}`]));
  const wanted = [...triggers].flatMap(([id, first]) =>
    Array.from({ length: RUNS }, (_, n) => `${id} ${first + n * 1000}`),
  );
  const wrong = wanted
    .filter((name) => seen.get(name) !== "1 1")
    .map((name) => `${name}: ${seen.get(name) ?? "nothing"}`);
  for (const name of wanted) seen.delete(name);
  return [...wrong, ...[...seen.keys()].map((name) => `${name}: no instant of it`)];
}

const finished = async () =>
  Number((await query("select count(*) as n from app.job_triggers where status = 'finished'"))[0]?.n);

test("SCHED-10 three schedulers that are killed, frozen and cut off: each instant of each trigger has one firing and one job", {
  timeout: isLong ? 60 * 60_000 : 120_000,
}, async () => {
  await Promise.all(Array.from({ length: SCHEDULERS }, start));
  await leader();
  const triggers = await makeTriggers();
  const played: Fault[] = [];
  const next = (): Fault | undefined =>
    isLong ? ALL_FAULTS[Math.floor(random() * ALL_FAULTS.length)] : FAULTS[played.length];
  for (let fault = next(); fault && (await finished()) < TRIGGERS; fault = next()) {
    await sleep(500 + 1500 * random());
    await play(fault);
    played.push(fault);
  }
  await waitFor(async () => (await finished()) === TRIGGERS, { withinMs: 90_000, what: "the last instants" });
  const terms = (await query("select term::int as term from app.leader"))[0]?.term;
  expect(await breaches(triggers)).toEqual([]);
  console.info(`seed ${seed}: ${TRIGGERS * RUNS} instants, ${played.length} faults, ${terms} terms, 0 twice, 0 lost`);
  // What it looks for, it finds.
  await query("delete from app.trigger_firings where ctid = (select ctid from app.trigger_firings limit 1)");
  await query(
    "update app.jobs set metadata = jsonb_set(metadata, '{instant}', '\"2026-01-01T00:00:00Z\"') where ctid = (select ctid from app.jobs limit 1)",
  );
  expect((await breaches(triggers)).length).toBeGreaterThanOrEqual(2);
});
