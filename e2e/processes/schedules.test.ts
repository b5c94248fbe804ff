import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { scheduleFixture } from "@/lib/testing/rows/schedules";
import { openStage } from "./stage";

const stage = await openStage();
const { database, scope } = stage;
const { query } = database;
const schedules = scheduleFixture(database, stage.factory);
/** Shifts the clock of a process. */
const skewed = (ms: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `const now = Date.now; Date.now = () => now() + (${ms});`,
  )}`,
});

const running = new Set<TestProcess>();
const start = async (env: Record<string, string> = {}) => {
  const one = await stage.startScheduler(env);
  running.add(one);
  return one;
};
const stopAll = async () => {
  const all = [...running];
  running.clear();
  for (const one of all) one.signal("SIGCONT");
  await Promise.all(all.map((one) => one.stop()));
};
afterAll(stopAll);

async function leader(): Promise<TestProcess> {
  return waitFor(
    async () => {
      const [row] = await query<{ leader_id: string | null }>(
        "select leader_id from app.leader where last_seen_at > app.now() - interval '3 s'",
      );
      return [...running].find(({ pid }) => row?.leader_id?.split(":")[1] === String(pid));
    },
    { withinMs: 30_000, what: "a leader" },
  );
}
const another = (former: TestProcess) =>
  waitFor(async () => ((await leader()) === former ? null : leader()), { withinMs: 50_000, what: "another leader" });
/** Ends the session that holds the lock, as a network would. */
const cutLeadership = () =>
  query(
    `select pg_terminate_backend(a.pid) from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and a.application_name = 'leasehold leadership' and a.datname = current_database()`,
  );

/** A schedule for every second that catches up on all instants. */
const eachSecond = (columns: Record<string, unknown> = {}) =>
  schedules.trigger(scope, {
    schedule_type: "interval",
    interval_ms: 1000,
    anchor_at: "2026-01-01T00:00:00Z",
    catch_up: "all",
    catch_up_limit: 1000,
    next_run_at: new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000),
    ...columns,
  });
const count = async (id: string) => (await schedules.firings(id)).length;
const fires = async (id: string, more: number) => {
  const wanted = (await count(id)) + more;
  await waitFor(async () => (await count(id)) >= wanted, { withinMs: 30_000, what: `${more} more instants` });
};

/** Fails unless each second from the first to the last has one firing and one job. */
async function expectEachOnce(id: string): Promise<void> {
  await query(
    "update app.job_triggers set is_enabled = false, next_run_at = null, following_run_at = null where id = $1",
    [id],
  );
  const all = await schedules.firings(id);
  const first = Date.parse(all[0]?.at ?? "");
  expect(all.map(({ at }) => (Date.parse(at) - first) / 1000)).toEqual(all.map((_, n) => n));
  expect(all.filter(({ outcome }) => outcome !== "enqueued")).toEqual([]);
  const instants = (await schedules.jobs(id)).map(({ metadata }) => (metadata as { instant: string }).instant);
  expect(instants.toSorted()).toEqual(all.map(({ at }) => at.replace("Z", ".000Z")));
}

describe("with schedulers whose own clocks are four seconds apart", async () => {
  await start(skewed(4000));
  await start(skewed(-4000));
  await start();

  test("SCHED-13 each instant fires once, and never before the database's clock reaches it", async () => {
    const id = await eachSecond();
    await fires(id, 4);
    const early = await query("select 1 from app.trigger_firings where created_at < fire_at");
    expect(early).toEqual([]);
    await expectEachOnce(id);
  });

  test("SCHED-10 a leader that loses its connections or freezes is replaced within ten seconds, and no instant fires twice", async () => {
    const id = await eachSecond();
    await fires(id, 1);
    const first = await leader();
    await cutLeadership();
    await query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'leasehold scheduler' and datname = current_database()",
    );
    await fires(id, 2);
    const frozen = await leader();
    frozen.signal("SIGSTOP");
    const began = Date.now();
    await another(frozen);
    const afterMs = Date.now() - began;
    console.info(`another scheduler fired ${afterMs} ms after the leader froze; the first one was ${first.pid}`);
    expect(afterMs).toBeLessThan(10_000);
    await fires(id, 1);
    const lost = () => frozen.output().match(/lost leadership/g)?.length ?? 0;
    const before = lost();
    frozen.signal("SIGCONT");
    await waitFor(() => lost() > before, { what: "the old leader's word that it does not lead" });
    await fires(id, 2);
    await expectEachOnce(id);
  });

  test("SCHED-11 a scheduler that loses leadership and regains it within a minute fires each instant once", async () => {
    const id = await eachSecond();
    const first = await leader();
    const terms = () => first.output().match(/"msg":"became leader"/g)?.length ?? 0;
    const before = terms();
    for (let turn = 0; turn < 40 && terms() === before; turn += 1) {
      await cutLeadership();
      await sleep(700);
    }
    expect(terms()).toBeGreaterThan(before);
    await fires(id, 3);
    await expectEachOnce(id);
  });

  test("SCHED-16 each instant uses the template that was saved last, through twenty edits", async () => {
    const id = await eachSecond({ payload_template: { v: 0 } });
    const saved: { v: number; at: Date }[] = [{ v: 0, at: new Date(0) }];
    for (let v = 1; v <= 20; v += 1) {
      const rows = await query<{ at: Date }>(
        "update app.job_triggers set payload_template = $2, version = version + 1 where id = $1 returning clock_timestamp() as at",
        [id, JSON.stringify({ v })],
      );
      saved.push({ v, at: rows[0]?.at ?? new Date(0) });
      await sleep(200);
    }
    await fires(id, 1);
    const made = await query<{ v: number; began: Date }>(
      `select (j.payload ->> 'v')::int as v, f.created_at as began from app.trigger_firings f join app.jobs j on j.id = f.job_id
       where f.trigger_id = $1 order by f.fire_at`,
      [id],
    );
    expect(made.length).toBeGreaterThan(3);
    for (const { v, began } of made) {
      // A turn may or may not see an edit that was committed as it began.
      expect(v).toBeGreaterThanOrEqual(Math.max(...saved.filter(({ at }) => at < began).map((one) => one.v)) - 1);
    }
    expect(made.at(-1)?.v).toBe(20);
    expect(made.map(({ v }) => v)).toEqual(made.map(({ v }) => v).toSorted((a, b) => a - b));
    await expectEachOnce(id);
  });

  test("SCHED-06 a schedule fires within five seconds of its minute, although its scheduler is killed just before and after", async () => {
    const id = await schedules.trigger(scope, {
      overlap_policy: "skip",
      next_run_at: new Date(Math.ceil((Date.now() + 4000) / 60_000) * 60_000),
    });
    const [{ border } = { border: new Date() }] = await query<{ border: Date }>(
      "select next_run_at as border from app.job_triggers where id = $1",
      [id],
    );
    const victim = await leader();
    await sleep(Math.max(0, border.getTime() - Date.now() - 100));
    victim.signal("SIGKILL");
    running.delete(victim);
    const [fired] = await waitFor(
      async () => {
        const all = await query<{ late_ms: number; at: Date }>(
          `select extract(epoch from created_at - fire_at)::float8 * 1000 as late_ms, fire_at as at
           from app.trigger_firings where trigger_id = $1`,
          [id],
        );
        return all.length > 0 ? all : null;
      },
      { withinMs: 30_000, what: "the instant" },
    );
    console.info(`fired ${fired?.late_ms} ms after the minute, by the successor of a killed scheduler`);
    expect(fired?.at).toEqual(border);
    expect(fired?.late_ms).toBeLessThan(5000);
    await sleep(1500);
    expect([await count(id), (await schedules.jobs(id)).length]).toEqual([1, 1]);
  }, 120_000);

  test("SCHED-18 a schedule due in months causes no timer overflow", async () => {
    await schedules.trigger(scope, { cron_expr: "0 0 1 1 *", next_run_at: new Date(Date.now() + 300 * 86_400_000) });
    await sleep(1000);
    for (const one of running) expect(one.output()).not.toMatch(/TimeoutOverflowWarning|MaxListenersExceededWarning/);
  });
});

describe("SCHED-05 a scheduler that is killed while it fires", () => {
  test.each([
    ["before its commit", "after:advance_triggers=kill"],
    ["after its commit", "before:wake=kill"],
  ])("%s: its successor, hours later, makes one job for the instant", async (_name, point) => {
    await stopAll();
    await query("update app.job_triggers set next_run_at = null, following_run_at = null");
    await schedules.clock("2026-03-02T08:59:58Z");
    const id = await schedules.trigger(scope, { cron_expr: "0 9 * * *", next_run_at: "2026-03-02T09:00:00Z" });
    const dying = await stage.startScheduler({ LEASEHOLD_TEST_FAILPOINT: point });
    await dying.exited;
    const left = await count(id);
    expect(left).toBe(point.startsWith("before:wake") ? 1 : 0);
    await schedules.clock("2026-03-02T12:00:00Z");
    const successor = await start();
    await waitFor(async () => (await schedules.read(id))?.next === "2026-03-03T09:00:00Z", {
      what: "the next instant",
    });
    await sleep(500);
    expect((await schedules.jobs(id)).length).toBe(1);
    expect(await schedules.firings(id)).toMatchObject([{ at: "2026-03-02T09:00:00Z", outcome: "enqueued" }]);
    await successor.stop();
    await database.moveClock(0);
  });
});
