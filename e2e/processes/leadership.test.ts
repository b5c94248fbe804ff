import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { openStage } from "./stage";

const ANOTHER_WITHIN_MS = 10_000;
const stage = await openStage();
const { query } = stage.database;
const lastDay = (
  await query<{ part: string }>(
    `select 'jobs_' || to_char((clock_timestamp() at time zone 'UTC')::date + 7, 'YYYYMMDD') as part`,
  )
)[0]?.part;
await query(`drop table if exists app.${lastDay}`);

const schedulers = await Promise.all([1, 2, 3].map(() => stage.startScheduler()));
afterAll(() => {
  for (const { child } of schedulers) child.kill("SIGCONT");
});

interface Leader {
  readonly term: number;
  readonly leaderId: string;
  readonly process: TestProcess;
}

async function readLeader(): Promise<Leader | null> {
  const [row] = await query<{ term: number; leader_id: string | null }>(
    "select term::int as term, leader_id from app.leader where last_seen_at > app.now() - interval '5 s'",
  );
  const process = schedulers.find(({ pid }) => row?.leader_id?.split(":")[1] === String(pid));
  return row?.leader_id && process ? { term: row.term, leaderId: row.leader_id, process } : null;
}

const leader = () => waitFor(readLeader, { what: "a leader" });
const leads = () => schedulers.flatMap(({ output }) => output().match(/"msg":"became leader"/g) ?? []).length;
const lockHolders = async () =>
  (
    await query(
      `select a.pid from pg_locks l join pg_stat_activity a using (pid)
       where l.locktype = 'advisory' and l.granted and a.application_name = 'leasehold leadership'
         and a.datname = current_database()`,
    )
  ).length;

async function nextAfter(former: Leader): Promise<{ next: Leader; afterMs: number }> {
  const began = Date.now();
  const next = await waitFor(
    async () => {
      const now = await readLeader();
      return now && now.term > former.term && now.leaderId !== former.leaderId ? now : null;
    },
    { withinMs: 50_000, what: "another leader" },
  );
  return { next, afterMs: Date.now() - began };
}

test("exactly one of three schedulers leads", async () => {
  const { term } = await leader();
  expect([term, leads(), await lockHolders()]).toEqual([1, 1, 1]);
});

test("the leader creates the partitions of the coming days, and no row goes to a DEFAULT partition", async () => {
  const made = async () => (await query("select to_regclass($1) as part", [`app.${lastDay}`]))[0]?.part;
  await waitFor(made, { what: "the partition of the seventh day" });
  await stage.enqueue("quick");
  for (const parent of ["jobs", "job_attempts", "job_logs"]) {
    expect(await query(`select 1 from app.${parent}_default limit 1`)).toEqual([]);
  }
});

test("another scheduler replaces a frozen leader, which writes nothing in its old term when it wakes", async () => {
  const frozen = await leader();
  frozen.process.signal("SIGSTOP");
  const { next, afterMs } = await nextAfter(frozen);
  console.info(`another scheduler led ${afterMs} ms after the leader froze`);
  expect(afterMs).toBeLessThan(ANOTHER_WITHIN_MS);
  expect(next.term).toBe(frozen.term + 1);
  const lostBefore = frozen.process.output().match(/lost leadership/g)?.length ?? 0;
  await query("create table public.old_term_writes (at timestamptz, term bigint, leader_id text)");
  await query(`create function public.note_write() returns trigger language plpgsql security definer as
    $$ begin insert into public.old_term_writes values (clock_timestamp(), new.term, new.leader_id); return new; end $$`);
  await query(
    "create trigger note_write before update on app.leader for each row execute function public.note_write()",
  );
  frozen.process.signal("SIGCONT");
  await waitFor(() => (frozen.process.output().match(/lost leadership/g)?.length ?? 0) > lostBefore, {
    what: "the old leader's word that it does not lead",
  });
  await waitFor(async () => (await query("select 1 from public.old_term_writes offset 2")).length > 0, {
    what: "three heartbeats",
  });
  const writers = await query("select distinct term::int as term, leader_id from public.old_term_writes");
  expect(writers).toEqual([{ term: next.term, leader_id: next.leaderId }]);
  expect([(await leader()).leaderId, await lockHolders()]).toEqual([next.leaderId, 1]);
});

test("another scheduler replaces a leader that freezes in a transaction holding its term as quickly", async () => {
  const frozen = await leader();
  const blocker = new pg.Client({ connectionString: stage.database.adminUrl });
  await blocker.connect();
  await blocker.query("begin");
  await blocker.query("lock table app.job_stat_deltas in access exclusive mode");
  const inside = (state: string) =>
    query(
      `select 1 from pg_stat_activity where application_name = 'leasehold scheduler' and state = $1
       and datname = current_database() and query like '%job_stat_deltas%'`,
      [state],
    );
  await waitFor(async () => (await inside("active")).length > 0, { what: "a turn that waits for the lock" });
  frozen.process.signal("SIGSTOP");
  await blocker.query("rollback");
  await blocker.end();
  await waitFor(async () => (await inside("idle in transaction")).length > 0, { what: "the open transaction" });
  const { next, afterMs } = await nextAfter(frozen);
  console.info(`another scheduler led ${afterMs} ms after the leader froze in a transaction`);
  frozen.process.signal("SIGCONT");
  expect(afterMs).toBeLessThan(ANOTHER_WITHIN_MS);
  expect(next.term).toBeGreaterThan(frozen.term);
});

test("another scheduler replaces a killed leader", async () => {
  const killed = await leader();
  killed.process.signal("SIGKILL");
  const { next, afterMs } = await nextAfter(killed);
  console.info(`another scheduler led ${afterMs} ms after the leader was killed`);
  expect(afterMs).toBeLessThan(ANOTHER_WITHIN_MS);
  expect([next.term, await lockHolders()]).toEqual([killed.term + 1, 1]);
});

test("a leader that gets SIGTERM hands over at once and exits 0", async () => {
  const stopped = await leader();
  const ended = stopped.process.stop();
  const { afterMs } = await nextAfter(stopped);
  expect((await ended).code).toBe(0);
  expect(afterMs).toBeLessThan(5000);
});
