import { setTimeout as sleep } from "node:timers/promises";
import { afterAll } from "vitest";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { scheduleFixture } from "@/lib/testing/rows/schedules";
import { openStage } from "../processes/stage";
import { type FaultyLine, openProxy } from "./proxy";

const SCHEDULERS = 3;
const TRIGGERS = 100;
/** Longer than the five seconds of silence after which the server ends a session. */
const SILENT_MS = 6500;

const ONCE_A_SECOND = {
  schedule_type: "interval",
  interval_ms: 1000,
  anchor_at: new Date(0),
  is_enabled: false,
  catch_up: "all",
  catch_up_limit: 1000,
};

export type Faults = "kill" | "end sessions" | "cut off" | "freeze" | "cut";
/** The instants of each trigger, by its id; milliseconds since 1970. */
type Instants = ReadonlyMap<string, readonly number[]>;

interface Scheduler {
  readonly process: TestProcess;
  readonly line: FaultyLine;
}

/** Opens three schedulers on one database, each behind its own proxy, with faults for the leader. */
export async function openScheduleArena() {
  const stage = await openStage();
  const { query } = stage.database;
  const schedules = scheduleFixture(stage.database, stage.factory);
  const running: Scheduler[] = [];

  const start = async () => {
    const line = await openProxy(stage.database.adminUrl);
    running.push({ process: await stage.startScheduler({ DATABASE_URL: line.url }), line });
  };
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

  const play = async (fault: Faults): Promise<void> => {
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
  };

  /** Creates triggers that fire once a second, at different moments, and end after `runs` runs. */
  const makeTriggers = async (runs: number): Promise<Instants> => {
    const ids: string[] = [];
    while (ids.length < TRIGGERS) ids.push(await schedules.trigger(stage.scope, { ...ONCE_A_SECOND, max_runs: runs }));
    // The first instants are in the future, however long the inserts took.
    const first = Math.ceil(Date.now() / 1000) * 1000 + 3000;
    const made = ids.map((id, n): [string, number[]] => {
      const at = first + Math.floor((n * 1000) / TRIGGERS);
      return [id, Array.from({ length: runs }, (_, run) => at + run * 1000)];
    });
    await query(
      `update app.job_triggers t set anchor_at = x.at, next_run_at = x.at, is_enabled = true
       from unnest($1::uuid[], $2::timestamptz[]) x (id, at) where t.id = x.id`,
      [ids, made.map(([, [at = 0]]) => new Date(at))],
    );
    return new Map(made);
  };

  await Promise.all(Array.from({ length: SCHEDULERS }, start));
  await leader();
  return {
    query,
    play,
    makeTriggers,
    isOver: async () => {
      const [row] = await query("select count(*) as n from app.job_triggers where status = 'finished'");
      return Number(row?.n) === TRIGGERS;
    },
    terms: async () => (await query<{ term: number }>("select term::int as term from app.leader"))[0]?.term,
  };
}

export type ScheduleArena = Awaited<ReturnType<typeof openScheduleArena>>;

/** Returns the instants that do not have exactly one firing and, with it, one job. */
export async function breaches({ query }: Pick<ScheduleArena, "query">, triggers: Instants): Promise<string[]> {
  const rows = await query<{ trigger_id: string; at: number; firings: number; jobs: number }>(
    `select coalesce(f.trigger_id::text, j.source_ref) as trigger_id, coalesce(f.at, j.at) as at,
       coalesce(f.n, 0) as firings, coalesce(j.n, 0) as jobs
     from (select trigger_id, extract(epoch from fire_at)::float8 * 1000 as at, count(*)::int as n
           from app.trigger_firings where outcome = 'enqueued' group by 1, 2) f
     full join (select source_ref, extract(epoch from (metadata ->> 'instant')::timestamptz)::float8 * 1000 as at,
           count(*)::int as n from app.jobs group by 1, 2) j on j.source_ref = f.trigger_id::text and j.at = f.at`,
  );
  const seen = new Map(rows.map(({ trigger_id, at, firings, jobs }) => [`${trigger_id} ${at}`, `${firings} ${jobs}`]));
  const wanted = [...triggers].flatMap(([id, instants]) => instants.map((at) => `${id} ${at}`));
  const wrong = wanted
    .filter((name) => seen.get(name) !== "1 1")
    .map((name) => `${name}: ${seen.get(name) ?? "nothing"}`);
  for (const name of wanted) seen.delete(name);
  return [...wrong, ...[...seen.keys()].map((name) => `${name}: no instant of it`)];
}
