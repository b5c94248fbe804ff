import { sql } from "drizzle-orm";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { lists } from "@/drizzle/schema";
import { testDatabase } from "@/lib/testing/database";
import { DatabaseError, openDatabase, retryUndone, statement, withTenant } from "./index";
import type { Database, OpenOptions, Runner } from "./types";

const database = await testDatabase();
const TENANT = "018f0000-0000-7000-8000-00000000000a";

const open = (options: Partial<OpenOptions> = {}): Database => {
  const db = openDatabase({
    prepare: true,
    url: database.urlFor("web"),
    role: "web",
    max: 2,
    applicationName: "pool-test",
    ...options,
  });
  onTestFinished(() => db.close());
  return db;
};

const pid = statement("backend_pid", "select pg_backend_pid() as pid");
const pidOf = async (runner: Runner) => (await runner.run<{ pid: number }>(pid))[0]?.pid;
const failure = (work: Promise<unknown>): Promise<DatabaseError> =>
  work.then(
    () => {
      throw new Error("it should have failed");
    },
    (error: unknown) => {
      expect(error).toBeInstanceOf(DatabaseError);
      return error as DatabaseError;
    },
  );
const kill = (backend: number | undefined) => database.query("select pg_terminate_backend($1)", [backend]);
const openTransactions = async () =>
  (
    await database.query(
      "select pid from pg_stat_activity where datname = current_database() and application_name = 'pool-test' and state like 'idle in transaction%'",
    )
  ).length;

beforeEach(async () => {
  await database.query("delete from app.lists");
  await database.query("insert into app.tenants (id, slug, name) values ($1, 'a', 'A') on conflict do nothing", [
    TENANT,
  ]);
});
afterAll(async () => expect(await openTransactions()).toBe(0));

test("values have the types that the code expects", async () => {
  const [row] = await open().run(
    statement(
      "types",
      `select 7::bigint as small, 9007199254740993::bigint as big, 1.10::numeric as exact, now() as at,
              '{"a":[1]}'::jsonb as json, '\\x00ff'::bytea as bytes, array['a','b'] as list, null::uuid as nothing`,
    ),
  );
  expect(row).toEqual({
    small: 7,
    big: "9007199254740993",
    exact: "1.10",
    at: expect.any(Date),
    json: { a: [1] },
    bytes: Buffer.from([0, 255]),
    list: ["a", "b"],
    nothing: null,
  });
});

test("statements are prepared under their name once per connection", async () => {
  const db = open({ max: 1 });
  const named = statement("prepared_once", "select name from pg_prepared_statements where name like 'prepared_once%'");
  await db.run(named);
  expect(await db.run(named)).toEqual([{ name: named.name }]);
});

describe("LEASE-26 a connection never passes an error on to its next user", () => {
  test("a backend that dies in a transaction: the connection is replaced and the error is unavailable", async () => {
    const db = open({ max: 1 });
    const error = await failure(
      db.transaction(async (tx) => {
        await kill(await pidOf(tx));
        await tx.run(pid);
      }),
    );
    expect(error).toMatchObject({ kind: "unavailable", undone: true });
    expect(await pidOf(db)).toEqual(expect.any(Number));
  });

  test("a ROLLBACK that fails: the caller gets the first error and the connection is closed", async () => {
    const db = open({ max: 1 });
    const before = await pidOf(db);
    const own = new Error("of the caller");
    await expect(
      db.transaction(async (tx) => {
        await kill(await pidOf(tx));
        throw own;
      }),
    ).rejects.toBe(own);
    expect(await pidOf(db)).not.toBe(before);
  });

  test("an exception before the first query leaves no transaction open and the connection usable", async () => {
    const db = open({ max: 1 });
    const before = await pidOf(db);
    await expect(db.transaction(() => Promise.reject(new Error("early")))).rejects.toThrow("early");
    expect(await openTransactions()).toBe(0);
    expect(await pidOf(db)).toBe(before);
  });

  test("a transaction that ignores a failed statement is reported as failed, not as committed", async () => {
    const db = open();
    const error = await failure(db.transaction((tx) => tx.run(statement("bad", "select 1/0")).catch(() => {})));
    expect(error).toMatchObject({ sqlState: "25P02", undone: true });
  });

  test("a transaction handle is unusable after its end", async () => {
    const db = open({ max: 1 });
    let kept: Runner | undefined;
    await db.transaction(async (tx) => {
      kept = tx;
    });
    await failure(kept?.run(pid) ?? Promise.resolve());
    await failure(Promise.resolve(kept?.orm.execute(sql`select 1`)));
  });

  test("a query without an answer closes its connection", async () => {
    const db = open({ max: 1, queryTimeoutMs: 200 });
    const before = await pidOf(db);
    expect(await failure(db.run(statement("slow", "select pg_sleep(2)")))).toMatchObject({ kind: "timeout" });
    expect(await pidOf(db)).not.toBe(before);
  });
});

test("PG-2 idle connections that the server ends are replaced and reported", async () => {
  const heard: Error[] = [];
  const db = open({ onError: (error) => heard.push(error) });
  await kill(await pidOf(db));
  await expect.poll(() => heard.length).toBe(1);
  expect(heard[0]).toBeInstanceOf(DatabaseError);
  expect(await pidOf(db)).toEqual(expect.any(Number));
});

test("PG-2 a borrowed connection that breaks between two queries does not crash the process", async () => {
  const db = open();
  const error = await failure(
    db.transaction(async (tx) => {
      const backend = await pidOf(tx);
      await kill(backend);
      await expect
        .poll(async () => (await database.query("select 1 from pg_stat_activity where pid = $1", [backend])).length)
        .toBe(0);
      await tx.run(pid);
    }),
  );
  expect(error.kind).toBe("unavailable");
});

test("LEASE-30 a connection to a server that became read-only is closed, and the pool recovers", async () => {
  const db = open({ max: 1 });
  const write = () =>
    withTenant(db, TENANT, (tx) => tx.orm.insert(lists).values({ tenant_id: TENANT, name: `n${Math.random()}` }));
  await write();
  await database.query(`alter database ${database.name} set default_transaction_read_only = on`);
  await kill(await pidOf(db));
  await expect.poll(() => failure(write()).then(({ sqlState }) => sqlState)).toBe("25006");
  expect(db.stats().total).toBe(0);
  await database.query(
    `set transaction_read_only = off; alter database ${database.name} reset default_transaction_read_only`,
  );
  await write();
});

describe("a database that is down", () => {
  test("is unavailable within five seconds, without an unhandled rejection", async () => {
    const url = new URL(database.urlFor("web"));
    url.port = "1";
    const db = open({ url: url.href });
    const started = Date.now();
    expect(await failure(db.run(pid))).toMatchObject({ kind: "unavailable", undone: true });
    expect(Date.now() - started).toBeLessThan(5000);
  });

  test("a full pool is unavailable after the acquire timeout", async () => {
    const db = open({ max: 1, acquireTimeoutMs: 1000 });
    await db.transaction(async () => {
      expect(await failure(db.run(pid))).toMatchObject({ kind: "unavailable", undone: true });
      expect(db.stats()).toMatchObject({ total: 1, idle: 0, waiting: 0, max: 1 });
    });
  });

  test("a closed database refuses queries, and closing twice is harmless", async () => {
    const db = open();
    await db.close();
    await db.close();
    expect((await failure(db.run(pid))).kind).toBe("unavailable");
  });
});

describe("LEASE-31 transient errors are retried at the query layer", () => {
  const raiseOnce = (code: string) => statement(`raise_${code}`, `select app.raise_until($1, '${code}') as calls`);

  beforeEach(async () => {
    // A sequence is not rolled back, so it also counts calls of transactions that were.
    await database.query(`
      drop sequence if exists app.calls; create sequence app.calls; grant usage on app.calls to leasehold_web;
      create or replace function app.raise_until(good integer, code text) returns bigint language plpgsql as $$
        declare n bigint := nextval('app.calls');
        begin if n < good then raise exception 'transient' using errcode = code; end if; return n; end $$;
      grant execute on function app.raise_until(integer, text) to leasehold_web`);
  });

  test.each(["40001", "40P01"])("a single statement that failed with %s is run again", async (code) => {
    expect(await open().run(raiseOnce(code), [3])).toEqual([{ calls: 3 }]);
  });

  test("retries end with the error kind retryable", async () => {
    expect(await failure(open().run(raiseOnce("40001"), [100]))).toMatchObject({
      kind: "retryable",
      sqlState: "40001",
    });
  });

  test.each(["23505", "42501", "57014"])("%s is not transient and is not retried", async (code) => {
    await failure(open().run(raiseOnce(code), [3]));
    expect(await database.query("select last_value::int as calls from app.calls")).toEqual([{ calls: 1 }]);
  });

  test("a whole transaction is run again only if its caller allows it", async () => {
    const db = open();
    const work = (tx: Runner) => tx.run(raiseOnce("40001"), [2]);
    await failure(db.transaction(work));
    await database.query("select setval('app.calls', 1, false)");
    expect(await db.transaction(work, { retries: 2 })).toEqual([{ calls: 2 }]);
    await database.query("select setval('app.calls', 1, false)");
    expect(await retryUndone(2, () => withTenant(db, TENANT, work))).toEqual([{ calls: 2 }]);
  });

  test("after a broken connection a repeatable read is sent again, a write is not", async () => {
    const db = open({ max: 1 });
    const dying = "select nextval('app.calls'), pg_terminate_backend(pg_backend_pid()), pg_sleep(5)";
    const calls = async () => (await database.query("select last_value::int as n from app.calls"))[0]?.n;
    await failure(db.run(statement("write_once", dying)));
    expect(await calls()).toBe(1);
    await failure(db.run(statement("read_again", dying, { repeatable: true })));
    expect(await calls()).toBe(5);
  });

  test("a plan that a new column made stale is prepared again", async () => {
    const db = open({ max: 1 });
    const star = statement("star", "select * from app.job_queues");
    await db.run(star);
    await database.query("alter table app.job_queues add column extra text");
    expect((await db.run(star))[0]).toHaveProperty("extra");
    await database.query("alter table app.job_queues drop column extra");
  });
});

describe("drizzle over the same connections", () => {
  test("returns DatabaseErrors without SQL or values", async () => {
    const db = open();
    const insert = () =>
      withTenant(db, TENANT, (tx) => tx.orm.insert(lists).values({ tenant_id: TENANT, name: "secret-name" }));
    await insert();
    const error = await failure(insert());
    expect(error).toMatchObject({ kind: "conflict", constraint: "lists_tenant_id_name_key" });
    expect(`${error.message}${JSON.stringify(error)}${String(error.cause)}`).not.toMatch(/secret-name|insert into/);
  });

  test("reads and writes rows as the schema defines", async () => {
    const [row] = await withTenant(open(), TENANT, (tx) =>
      tx.orm
        .insert(lists)
        .values({ tenant_id: TENANT, name: "typed", columns: ["a"] })
        .returning(),
    );
    expect(row).toMatchObject({
      tenant_id: TENANT,
      name: "typed",
      columns: ["a"],
      row_count: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  test("DZ-2 opens no transaction itself", async () => {
    const db = open();
    await failure(db.orm.transaction(() => Promise.resolve()));
    await db.transaction((tx) => failure(tx.orm.transaction(() => Promise.resolve())));
  });
});
