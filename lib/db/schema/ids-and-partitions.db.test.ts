import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { DatabaseError, openDatabase, statement } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";

const database = await testDatabase();
const query = (text: string, values?: unknown[]) => database.query(text, values);
const scheduler = openDatabase({
  prepare: true,
  url: database.urlFor("scheduler"),
  role: "scheduler",
  max: 1,
  applicationName: "partitions",
});
afterAll(() => scheduler.close());

const ensure = (days: number) =>
  scheduler.run<{ made: number }>(statement("ensure", "select app.ensure_partitions($1) as made"), [days]);

interface Day {
  name: string;
  from: string;
  to: string;
}
async function daysOf(parent: string): Promise<Day[]> {
  const rows = await query(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound from pg_inherits i
     join pg_class c on c.oid = i.inhrelid where i.inhparent = 'app.${parent}'::regclass order by c.relname`,
  );
  return rows.flatMap(({ name, bound }) => {
    const [, from = "", to = ""] = /FROM \('([^']+)'\) TO \('([^']+)'\)/.exec(String(bound)) ?? [];
    return from ? [{ name: String(name), from, to }] : [];
  });
}

describe("version 7 ids", () => {
  test("have version, variant and time where RFC 9562 places them", async () => {
    const before = Date.now();
    const rows = await query("select app.new_id()::text as id from generate_series(1, 1000)");
    for (const { id } of rows) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const at = Number.parseInt(String(id).replaceAll("-", "").slice(0, 12), 16);
      expect(Math.abs(at - before)).toBeLessThan(60_000);
    }
  });

  test("are distinct and ascend with the microsecond", async () => {
    const [row] = await query(`
      with made as materialized (select n, app.new_id() as id from generate_series(1, 20000) n)
      select count(distinct id)::int as distinct_ids,
             count(*) filter (where left(id::text, 18) < left(previous::text, 18))::int as falling
      from (select id, lag(id) over (order by n) as previous from made) m`);
    expect(row).toEqual({ distinct_ids: 20_000, falling: 0 });
  });

  test("have the same form in a batch and ascend in its order", async () => {
    const [row] = await query(`
      select count(distinct id)::int as distinct_ids,
        count(*) filter (where id <= previous or id is null)::int as falling,
        count(*) filter (where id::text !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$')::int as odd,
        bool_and(id between app.id_floor(clock_timestamp() - interval '1 minute')
          and app.id_floor(clock_timestamp() + interval '1 minute')) as now
      from (select id, lag(id) over (order by n) as previous
            from unnest(app.new_ids(5000)) with ordinality u (id, n)) m`);
    expect(row).toEqual({ distinct_ids: 5000, falling: 0, odd: 0, now: true });
  });

  test("follow the real clock, whatever a test does to app.now()", async () => {
    await database.moveClock(40 * 86_400_000);
    const [row] = await query("select app.new_id() < app.id_floor(clock_timestamp() + interval '1 minute') as today");
    await database.moveClock(0);
    expect(row).toEqual({ today: true });
  });

  test("id_floor is the smallest id of its millisecond", async () => {
    const hex = Date.parse("2026-03-01T00:00:00.123Z").toString(16).padStart(12, "0");
    const [row] = await query(`
      select app.id_floor('2026-03-01 00:00:00.123Z')::text as floor,
             app.id_floor('2026-03-01 00:00:00.122Z') < app.id_floor('2026-03-01 00:00:00.123Z') as rises,
             bool_and(app.id_floor(clock_timestamp() - interval '1 s') < app.new_id()
               and app.new_id() < app.id_floor(clock_timestamp() + interval '1 s')) as brackets
      from generate_series(1, 1000)`);
    expect(row).toEqual({
      floor: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`,
      rises: true,
      brackets: true,
    });
  });
});

describe("partitions by day", () => {
  test.each(["jobs", "job_attempts", "job_logs"])(
    "%s has yesterday to seven days ahead, without a gap",
    async (parent) => {
      const days = await daysOf(parent);
      expect(days).toHaveLength(9);
      for (const [index, day] of days.entries()) {
        if (index > 0) expect(day.from).toBe(days[index - 1]?.to);
      }
      const [covered] = await query("select app.new_id()::text between $1 and $2 as now_covered", [
        days[0]?.from,
        days[8]?.to,
      ]);
      expect(covered).toEqual({ now_covered: true });
    },
  );

  test("the three tables have the same partition bounds", async () => {
    const bounds = async (parent: string) => (await daysOf(parent)).map(({ from, to }) => [from, to]);
    expect(await bounds("job_attempts")).toEqual(await bounds("jobs"));
    expect(await bounds("job_logs")).toEqual(await bounds("jobs"));
  });

  test("the scheduler creates days ahead once, within limits", async () => {
    expect(await ensure(7)).toEqual([{ made: 0 }]);
    expect(await ensure(9)).toEqual([{ made: 6 }]);
    expect(await ensure(9)).toEqual([{ made: 0 }]);
    await expect(ensure(61)).rejects.toBeInstanceOf(DatabaseError);
    await expect(ensure(-1)).rejects.toBeInstanceOf(DatabaseError);
  });

  test("concurrent schedulers create each day once", async () => {
    const other = openDatabase({
      prepare: true,
      url: database.urlFor("scheduler"),
      role: "scheduler",
      max: 4,
      applicationName: "partitions",
    });
    onTestFinished(() => other.close());
    const made = await Promise.all(
      Array.from({ length: 4 }, () =>
        other.run<{ made: number }>(statement("ensure", "select app.ensure_partitions(12) as made")),
      ),
    );
    expect(made.flat().reduce((sum, row) => sum + row.made, 0)).toBe(9);
  });

  test("new days have no grants, so they are accessed through their parent only", async () => {
    const rows = await query(
      "select relname from pg_class where relnamespace = 'app'::regnamespace and relispartition and relkind = 'r' and relacl is not null",
    );
    expect(rows).toEqual([]);
  });

  test("a row of a missing day is kept in the DEFAULT partition, and the scheduler can count it", async () => {
    const count = statement("strays", "select app.default_partition_rows() as rows");
    expect(await scheduler.run(count)).toEqual([{ rows: 0 }]);
    await query(`insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body)
      values (app.id_floor('2020-01-01Z'), 1, 0, app.new_id(), 'log', 'stray')`);
    expect(await scheduler.run(count)).toEqual([{ rows: 1 }]);
  });

  test("no other role can create days or count rows of the DEFAULT partition", async () => {
    const web = openDatabase({
      prepare: true,
      url: database.urlFor("web"),
      role: "web",
      max: 1,
      applicationName: "partitions",
    });
    onTestFinished(() => web.close());
    for (const text of [
      "select app.ensure_partitions(1)",
      "select app.make_days(1)",
      "select app.partition_problems()",
      "select app.default_partition_rows()",
    ]) {
      await expect(web.run(statement("not_mine", text))).rejects.toMatchObject({ sqlState: "42501" });
    }
  });
});
