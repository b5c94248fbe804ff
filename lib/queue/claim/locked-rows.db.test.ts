import { readdir, readFile } from "node:fs/promises";
import pg from "pg";
import { afterAll, afterEach, expect, test } from "vitest";
import {
  deleteExpired,
  enqueueJobs,
  expireJobs,
  fanOutPending,
  fireDueSchedules,
  foldStatDeltas,
  promoteDueJobs,
  pruneWorkers,
  rescueExpiredLeases,
  sweepDependents,
  takeBulkAction,
  workOffReleases,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { scheduleFixture } from "@/lib/testing/rows/schedules";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const definition = await make.definition();
const schedules = scheduleFixture(database, make);
const holder = new pg.Client({ connectionString: database.adminUrl });
await holder.connect();
afterAll(async () => {
  await holder.end();
  await make.close();
});

afterEach(() => holder.query("rollback"));

const T = `'${scope.tenantId}'::uuid`;
const D = `'${definition.id}'::uuid`;
/** Number of rows that no other transaction locks. */
const OPEN = 5;

interface Sweep {
  readonly name: string;
  /** Rows per batch of the sweep. */
  readonly batch: number;
  /** The rows that the sweep still has to process. */
  readonly todo: string;
  /** The order in which the sweep takes them. */
  readonly order?: string;
  make(n: number): Promise<unknown>;
  run(): Promise<unknown>;
}

const insert = (text: string) => (n: number) => database.query(text.replaceAll("$n", String(n)));
const enqueue = (n: number, job: object = {}) =>
  enqueueJobs(
    make.web,
    scope,
    Array.from({ length: n }, (_, i) => ({
      definitionKey: definition.key,
      ...JSON.parse(JSON.stringify(job).replaceAll("$i", `${i}`)),
    })),
  );
const running = async (n: number, job: object = {}) => {
  await enqueue(n, job);
  await make.claim("lost", n);
  await database.query(
    "update app.live_jobs set lease_expires_at = app.now() - interval '1 min' where state = 'running'",
  );
};
const overdue = async (n: number, job: object = {}) => {
  await enqueue(n, job);
  await database.query("update app.live_jobs set expires_at = app.now() - interval '1 s'");
};
const rescue = { batch: 20, todo: "app.live_jobs where state = 'running'", make: running };
const expire = { batch: 20, order: "expires_at", todo: "app.live_jobs", make: overdue };
const random = () => 0.5;
const clean = () => deleteExpired(make.scheduler);
const old = (table: string, where = "true") => ({ batch: 1000, todo: `app.${table} where ${where}`, run: clean });

const SWEEPS: readonly Sweep[] = [
  {
    ...rescue,
    name: "rescue by the scheduler",
    run: () => make.scheduler.transaction((tx) => rescueExpiredLeases(tx, { limit: 20, random })),
  },
  {
    ...rescue,
    name: "rescue by a worker",
    run: () => rescueExpiredLeases(make.worker, { limit: 20, random }),
  },
  {
    ...rescue,
    name: "rescue of jobs whose dedupe keys are locked",
    make: async (n) => {
      await running(n, { dedupeKey: "rescued-$i" });
      await database.query("update app.live_jobs set cancel_requested_at = app.now()");
    },
    todo: "app.dedupe_keys where key like 'rescued-%' and live",
    run: () => rescueExpiredLeases(make.scheduler, { limit: 20, random }),
  },
  { ...expire, name: "expiry by the scheduler", run: () => expireJobs(make.scheduler, { limit: 20 }) },
  { ...expire, name: "expiry by a worker", run: () => expireJobs(make.worker, { limit: 20 }) },
  {
    ...expire,
    name: "expiry of jobs whose dedupe keys are locked",
    make: (n) => overdue(n, { dedupeKey: "expired-$i" }),
    order: "key",
    todo: "app.dedupe_keys where key like 'expired-%' and live",
    run: () => expireJobs(make.scheduler, { limit: 20 }),
  },
  {
    name: "promotion",
    batch: 20,
    order: "scheduled_for",
    todo: "app.live_jobs where not ready",
    make: (n) => enqueue(n).then(() => database.query("update app.live_jobs set ready = false")),
    run: () => promoteDueJobs(make.scheduler, { limit: 20 }),
  },
  {
    name: "release of dependents",
    batch: 20,
    order: "id",
    todo: "app.release_backlog",
    make: insert(`insert into app.release_backlog (tenant_id, parent_id, from_child, to_child)
      select ${T}, app.new_id(), app.new_id(), app.new_id() from generate_series(1, $n)`),
    run: () => workOffReleases(make.scheduler, { limit: 20 }),
  },
  {
    name: "healing of blocked jobs",
    batch: 20,
    order: "job_id",
    todo: "app.live_jobs where state = 'blocked'",
    make: (n) => enqueue(n).then(() => database.query("update app.live_jobs set state = 'blocked', ready = false")),
    run: async () => {
      for (let after: string | undefined, turn = 0; turn < 4; turn++) {
        ({ last: after } = await sweepDependents(make.scheduler, { after, limit: 20 }));
      }
    },
  },
  {
    name: "firing of schedules",
    batch: 10,
    order: "next_run_at",
    todo: "app.job_triggers where next_run_at < app.now()",
    make: async (n) => {
      for (let i = 0; i < n; i++) await schedules.trigger(scope, { next_run_at: new Date(Date.now() - 60_000) });
    },
    run: () => make.scheduler.transaction((tx) => fireDueSchedules(tx, { limit: 10 })),
  },
  {
    name: "fan-out of events",
    batch: 100,
    order: "id",
    todo: "app.events where status = 'pending'",
    make: insert(`insert into app.events (tenant_id, name, data, source, status)
      select ${T}, 'no.listeners', '{}', 'api', 'pending' from generate_series(1, $n)`),
    run: () => fanOutPending(make.web, scope.tenantId),
  },
  {
    name: "choice of a bulk action",
    batch: 1,
    order: "created_at, id",
    todo: "app.bulk_actions where taken_at is null",
    make: insert(`insert into app.bulk_actions (tenant_id, action, target, next_before, total, total_is_exact, actor_kind)
      select ${T}, 'cancel', '{}', app.new_id(), 1, true, 'system' from generate_series(1, $n)`),
    run: async () => {
      for (let n = 0; n < OPEN; n++) await make.scheduler.transaction((tx) => takeBulkAction(tx, 1));
    },
  },
  {
    name: "folding of figures",
    batch: 5000,
    todo: "app.job_stat_deltas",
    make: insert(`insert into app.job_stat_deltas (tenant_id, definition_id, kind, n)
      select ${T}, ${D}, 'queued', 1 from generate_series(1, $n)`),
    run: () => foldStatDeltas(make.scheduler),
  },
  {
    name: "pruning of workers",
    batch: 1000,
    todo: "app.job_workers",
    make: insert(`insert into app.job_workers (worker_id, hostname, pid, last_seen_at)
      select 'silent-' || i, 'h', 1, app.now() - interval '2 days' from generate_series(1, $n) i`),
    run: () => pruneWorkers(make.scheduler),
  },
  {
    ...old("idempotency_keys"),
    name: "deletion of stored answers",
    order: "expires_at",
    make: insert(`insert into app.idempotency_keys (tenant_id, route, key, request_hash, response_status, response_body,
      expires_at) select ${T}, 'r', i, sha256('x'), 201, '', app.now() - interval '1 s' from generate_series(1, $n) i`),
  },
  {
    ...old("sessions"),
    name: "deletion of sessions",
    make: insert(`with one as (insert into app.users (email) values ('a@example.test') returning id)
      insert into app.sessions (id_hash, user_id, idle_expires_at, absolute_expires_at)
      select sha256(i::text::bytea), id, app.now(), app.now() - interval '31 days' - i * interval '1 s' from one, generate_series(1, $n) i`),
  },
  {
    ...old("bulk_actions", "finished_at is not null"),
    name: "deletion of bulk actions",
    order: "finished_at",
    make: insert(`insert into app.bulk_actions (tenant_id, action, target, next_before, total, total_is_exact, actor_kind,
        status, finished_at)
      select ${T}, 'cancel', '{}', app.new_id(), 1, true, 'system', 'done', app.now() - interval '31 days'
      from generate_series(1, $n)`),
  },
  {
    ...old("webhook_deliveries"),
    name: "deletion of deliveries",
    order: "created_at",
    make: insert(`with one as (
        insert into app.webhook_endpoints (tenant_id, url, secret) values (${T}, 'https://x', 's') returning id)
      insert into app.webhook_deliveries (tenant_id, endpoint_id, job_id, attempt_no, message_id, type, url, request,
        duration_ms, started_at, created_at)
      select ${T}, id, app.new_id(), 1, 'm', 't', 'https://x', '', 1, app.now(), app.now() - interval '31 days'
      from one, generate_series(1, $n)`),
  },
  {
    ...old("events", "received_at < app.now() - interval '30 days'"),
    name: "deletion of events",
    order: "received_at",
    make: insert(`insert into app.events (tenant_id, name, data, source, status, received_at)
      select ${T}, 'old', '{}', 'api', 'done', app.now() - interval '31 days' from generate_series(1, $n)`),
  },
  {
    ...old("trigger_firings", "reason = 'old'"),
    name: "deletion of firings",
    order: "id",
    make: async (n) => {
      const id = await schedules.trigger(scope);
      await database.query(`insert into app.trigger_firings (id, tenant_id, trigger_id, kind, fire_at, outcome, reason)
        select ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, ${T}, '${id}', 'manual', app.now(), 'skipped',
          'old' from generate_series(1, ${n}) i`);
    },
  },
  {
    ...old("job_triggers", "deleted_at is not null"),
    name: "deletion of triggers",
    order: "deleted_at",
    make: insert(`insert into app.job_triggers (tenant_id, label, trigger_type, event_name, definition_id, overlap_policy,
        deleted_at)
      select ${T}, 'old', 'event', 'x', ${D}, 'allow', app.now() - interval '91 days' from generate_series(1, $n)`),
  },
];

test.each(SWEEPS)("$name: rows locked by another transaction do not delay other rows", async (sweep) => {
  const { batch, todo, order = "ctid", run } = sweep;
  await database.query("truncate app.live_jobs, app.dedupe_keys, app.job_stat_deltas");
  await sweep.make(batch + OPEN);
  const left = async () => (await database.query<{ n: number }>(`select count(*)::int as n from ${todo}`))[0]?.n;
  await holder.query("begin");
  const locked = await holder.query(`select 1 from ${todo} order by ${order} limit ${batch} for update`);
  expect(locked.rowCount).toBe(batch);
  await run();
  expect(await left()).toBe(batch);
  await holder.query("rollback");
  for (let turn = 0; turn < 10 && (await left()); turn++) await run();
  expect(await left()).toBe(0);
});

test("a worker whose marks are locked does not delay the rescue of other workers' jobs", async () => {
  await database.query("truncate app.live_jobs");
  await database.query("insert into app.job_workers (worker_id, hostname, pid) values ('a', 'h', 1), ('b', 'h', 1)");
  await database.query("insert into app.attempt_marks (worker_id) values ('a'), ('b')");
  await running(2);
  await database.query(`update app.live_jobs l set claimed_by_worker = x.worker
    from (select job_id, case row_number() over () when 1 then 'a' else 'b' end as worker from app.live_jobs) x
    where x.job_id = l.job_id`);
  await holder.query("begin");
  await holder.query("select 1 from app.attempt_marks where worker_id = 'a' for update");
  const sweep = () => rescueExpiredLeases(make.scheduler, { limit: 20, random });
  expect(await sweep()).toMatchObject({ rescued: 1 });
  expect(await database.query("select claimed_by_worker as by from app.live_jobs where state = 'running'")).toEqual([
    { by: "a" },
  ]);
  await holder.query("rollback");
  expect(await sweep()).toMatchObject({ rescued: 1 });
});

test("each statement that deletes or updates a bounded batch uses skip locked", async () => {
  const folder = new URL("../", import.meta.url);
  const unlocked: string[] = [];
  const statements = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".sql.ts"));
  expect(statements.length).toBeGreaterThan(20);
  for (const name of statements) {
    const text = await readFile(new URL(name, folder), "utf8");
    for (const [whole] of text.matchAll(/`[^`]*(?:delete from|update) app\.[^`]*limit \$1[^`]*`/g))
      if (!/limit \$1\b[^;]*\bfor (?:no key )?update (?:of \w+ )?skip locked/.test(whole))
        unlocked.push(`${name}: ${whole}`);
  }
  expect(unlocked).toEqual([]);
});
