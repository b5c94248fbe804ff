import { afterAll, expect, test } from "vitest";
import { openDatabase, statement } from "@/lib/db";
import { fireDueSchedules } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { backendCpuOf } from "@/lib/testing/measure/backend-cpu";
import { makeFactory } from "@/lib/testing/rows/factories";
import { scheduleFixture } from "@/lib/testing/rows/schedules";

/** Due schedules of one tenant, and as many that are not due yet. `PLAN_ROWS=100000` runs the long form. */
const ROWS = Number(process.env.PLAN_ROWS ?? 10_000);

const database = await testDatabase();
const { query } = database;
const make = makeFactory(database);
const { dueTriggers } = scheduleFixture(database, make);
const url = database.urlFor("scheduler");
// A single connection prepares each statement once.
const scheduler = openDatabase({ prepare: true, url, role: "scheduler", max: 1, applicationName: "leasehold-test" });
afterAll(async () => {
  await scheduler.close();
  await make.close();
});

const entriesReadSql = statement(
  "index_entries_read",
  `select sum(pg_stat_get_xact_tuples_returned(i.indexrelid))::float8 as n
   from pg_index i where i.indrelid = 'app.job_triggers'::regclass`,
);

/**
 * Runs turns of a leader until a tenant's trigger has fired. Returns their number, and the most index entries
 * that one of them read.
 */
async function turnsUntilFired(tenantId: string) {
  let after: string | undefined;
  let [turns, entries, cpuMs, isFired] = [0, 0, 0, false];
  const turn = () =>
    scheduler.transaction(async (tx) => {
      const read = async () => (await tx.run<{ n: number }>(entriesReadSql))[0]?.n ?? 0;
      const before = await read();
      ({ after } = await fireDueSchedules(tx, { limit: 100, after }));
      entries = Math.max(entries, (await read()) - before);
    });
  for (; !isFired && turns < 20; turns += 1) {
    cpuMs += await backendCpuOf(scheduler, turn);
    isFired = (await query("select 1 from app.trigger_firings where tenant_id = $1", [tenantId])).length > 0;
  }
  return { turns, entries, cpuMs: cpuMs / turns };
}

test.each([1, 5000])(
  "a turn costs the same for any number of due schedules, with %s tenants",
  async (count) => {
    const first = await make.tenant();
    // The server's statistics contain no due schedule.
    await dueTriggers(first.tenantId, 10, { secondsAgo: -3600 });
    await query("vacuum analyze");
    const all = await query<{ id: string }>(
      "insert into app.tenants (slug, name) select 'of-' || $1 || '-' || n, 'T' from generate_series(1, $1::int) n returning id",
      [count],
    );
    await dueTriggers(all[count >> 1]?.id ?? "", ROWS, { secondsAgo: 3000 });
    await query(
      `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, schedule_type, interval_ms, anchor_at,
     timezone, overlap_policy, next_run_at)
   select x.id, 'later', 'schedule', d.id, 'interval', 3600000, app.now(), 'UTC', 'allow', app.now() + interval '30 min'
   from unnest($1::uuid[]) x (id), app.job_definitions d, generate_series(1, $2::int)`,
      [all.map(({ id }) => id), Math.ceil(ROWS / count)],
    );
    const later = await make.tenant();
    for (const { tenantId } of [first, later]) {
      await dueTriggers(tenantId, ROWS / 10, { secondsAgo: -3600 });
      await dueTriggers(tenantId, 1, { secondsAgo: 0.5 });
      const { turns, entries, cpuMs } = await turnsUntilFired(tenantId);
      console.info(
        `${count} tenants: ${turns} turns, ${entries} index entries, ${cpuMs.toFixed(0)} ms of the server's processor`,
      );
      expect(turns).toBeLessThanOrEqual(1 + Math.ceil(count / 1000));
      // A few entries for each of the 1,000 tenants that a turn checks, however large ROWS is.
      expect(entries).toBeLessThan(5 * 1000);
      await query("analyze");
    }
  },
  300_000,
);
