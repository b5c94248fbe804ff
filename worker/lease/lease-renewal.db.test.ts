import pg from "pg";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { DatabaseError, openDatabase } from "@/lib/db";
import { type ClaimedJob, cancelJob, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import type { FromThread } from "./lease-protocol";
import { LeaseRenewal } from "./lease-renewal";

const LEASE_SECONDS = 30;
const RENEW_AT = 10_000;
const GIVE_UP_AT = 25_000;
const HOUR_MS = 3_600_000;
const PID = 4242;

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

let now: number;
let posted: FromThread[];
let killed: number[];
/** How many messages had been sent when each process was killed. */
let postedBefore: number[];
let job: ClaimedJob;
const lease = () => ({ jobId: job.jobId, leaseNo: job.leaseNo });

function renewalOn(db: ConstructorParameters<typeof LeaseRenewal>[0] = make.worker, since = 0) {
  const renewal = new LeaseRenewal(
    db,
    () => now,
    (message) => posted.push(message),
    (pid) => {
      killed.push(pid);
      postedBefore.push(posted.length);
    },
  );
  renewal.hold({ ...lease(), leaseSeconds: LEASE_SECONDS, since, renewForMs: HOUR_MS });
  renewal.spawned(lease(), PID);
  return {
    renewal,
    turnAt: (ms: number) => {
      now = ms;
      return renewal.turn();
    },
    silentTurnAt: (ms: number) => {
      now = ms;
      return renewal.turn(false);
    },
  };
}

/** A database that is unavailable: every statement fails. */
const refuse = () => Promise.reject(new DatabaseError({ kind: "unavailable", connectionLost: true }));
const away: ConstructorParameters<typeof LeaseRenewal>[0] = {
  run: refuse,
  orm: make.worker.orm,
  stats: make.worker.stats,
};

async function leftSeconds(): Promise<number> {
  const [row] = await database.query(
    "select extract(epoch from lease_expires_at - app.now())::float8 as left from app.live_jobs where job_id = $1",
    [job.jobId],
  );
  return row?.left;
}

const age = (seconds: number) =>
  database.query(
    "update app.live_jobs set lease_expires_at = lease_expires_at - make_interval(secs => $2) where job_id = $1",
    [job.jobId, seconds],
  );

beforeEach(async () => {
  now = 0;
  posted = [];
  killed = [];
  postedBefore = [];
  job = await make.runningJob(scope);
});

describe("renewal of leases", () => {
  test("comes after a third of the lease, which then counts from the renewal", async () => {
    const { turnAt } = renewalOn();
    await age(RENEW_AT / 1000);
    await turnAt(RENEW_AT - 1);
    expect(await leftSeconds()).toBeLessThan(20);
    await turnAt(RENEW_AT);
    expect(await leftSeconds()).toBeGreaterThan(29);
    await turnAt(GIVE_UP_AT); // the lease was renewed at 10 s, so this is not too late
    expect([posted, killed]).toEqual([[], []]);
  });

  test("LEASE-01 of another worker's lease reports it as lost, and then its processes are killed", async () => {
    const { renewal, turnAt } = renewalOn();
    await settleAttempts(make.worker, [retried(job, 0)]);
    await turnAt(RENEW_AT);
    expect(posted).toEqual([{ type: "lost", leases: [lease()] }]);
    expect([killed, postedBefore]).toEqual([[PID], [1]]);
    renewal.spawned(lease(), PID + 1);
    expect(killed).toEqual([PID, PID + 1]);
    await turnAt(RENEW_AT * 2);
    expect(posted).toHaveLength(1);
  });

  test("stops when the main thread has no heartbeat, and the work is stopped", async () => {
    const { silentTurnAt } = renewalOn();
    await age(RENEW_AT / 1000);
    await silentTurnAt(RENEW_AT);
    expect(await leftSeconds()).toBeLessThan(20);
    await silentTurnAt(GIVE_UP_AT);
    expect([posted.map(({ type }) => type), killed]).toEqual([["lost"], [PID]]);
  });

  test("succeeds after the expiry as long as the job is not rescued", async () => {
    const { turnAt } = renewalOn();
    await age(LEASE_SECONDS + 5);
    await turnAt(RENEW_AT);
    expect(await leftSeconds()).toBeGreaterThan(29);
    expect(posted).toEqual([]);
  });

  test("while the database is down, work continues until a sixth of the lease is left", async () => {
    const { turnAt } = renewalOn(away);
    await turnAt(RENEW_AT);
    await turnAt(GIVE_UP_AT - 1);
    expect([posted, killed]).toEqual([[], []]);
    await turnAt(GIVE_UP_AT);
    expect(posted).toEqual([{ type: "lost", leases: [lease()] }]);
    expect(killed).toEqual([PID]);
  });

  test("while the database does not answer, work is stopped at the same time", async () => {
    const { turnAt } = renewalOn({ ...away, run: () => new Promise(() => {}) });
    void turnAt(RENEW_AT);
    await turnAt(GIVE_UP_AT - 1);
    expect(killed).toEqual([]);
    await turnAt(GIVE_UP_AT);
    expect(posted).toEqual([{ type: "lost", leases: [lease()] }]);
    expect(killed).toEqual([PID]);
  });

  test("of a short lease leaves enough time for a turn one second later", async () => {
    const { renewal, turnAt } = renewalOn(away);
    renewal.hold({ ...lease(), leaseSeconds: 5, since: 0, renewForMs: HOUR_MS });
    renewal.spawned(lease(), PID);
    await turnAt(3799);
    expect(killed).toEqual([]);
    await turnAt(3800);
    expect(killed).toEqual([PID]);
  });

  test("counts the lease from its claim, however late the claim's answer came", async () => {
    const { turnAt } = renewalOn(away, -RENEW_AT);
    await turnAt(GIVE_UP_AT - RENEW_AT - 1);
    expect(killed).toEqual([]);
    await turnAt(GIVE_UP_AT - RENEW_AT);
    expect(killed).toEqual([PID]);
  });

  test("that is answered when the lease is nearly over stops the work in the same turn", async () => {
    const slow = {
      ...away,
      run: () => {
        now = GIVE_UP_AT;
        return refuse();
      },
    };
    await renewalOn(slow).turnAt(RENEW_AT);
    expect(killed).toEqual([PID]);
  });

  test("of a locked row is tried again, and the lease is not lost", async () => {
    const { turnAt } = renewalOn();
    const other = new pg.Client({ connectionString: database.adminUrl });
    await other.connect();
    await other.query("begin");
    await other.query("select 1 from app.live_jobs where job_id = $1 for update", [job.jobId]);
    await turnAt(RENEW_AT);
    expect(posted).toEqual([]);
    await other.query("rollback");
    await other.end();
    await age(15);
    await turnAt(RENEW_AT + 1000);
    expect(await leftSeconds()).toBeGreaterThan(29);
  });

  test("reports a cancel request and keeps the lease while the work stops", async () => {
    const { turnAt } = renewalOn();
    await cancelJob(make.web, scope, job.jobId);
    await turnAt(RENEW_AT);
    expect(posted).toEqual([{ type: "cancel", leases: [lease()] }]);
    expect(killed).toEqual([]);
    expect(await leftSeconds()).toBeGreaterThan(29);
  });

  test("ends for an attempt past its time limit, so that its lease expires", async () => {
    const { renewal, turnAt } = renewalOn();
    renewal.limit(lease(), RENEW_AT);
    await age(RENEW_AT / 1000);
    await turnAt(RENEW_AT);
    expect(await leftSeconds()).toBeLessThan(20);
    await turnAt(GIVE_UP_AT);
    expect(killed).toEqual([PID]);
  });

  test("does not check a dropped lease", async () => {
    const { renewal, turnAt } = renewalOn();
    renewal.drop(lease());
    await turnAt(GIVE_UP_AT);
    expect([posted, killed]).toEqual([[], []]);
  });
});

test("the connection is open before the first renewal, and is reopened when it breaks", async () => {
  const db = openDatabase({
    url: database.urlFor("worker"),
    role: "worker",
    max: 1,
    keep: 1,
    prepare: true,
    applicationName: "leases of this test",
  });
  onTestFinished(() => db.close());
  const renewal = new LeaseRenewal(
    db,
    () => 0,
    () => undefined,
    () => undefined,
  );
  const backends = async () => {
    const rows = await database.query(
      "select pid from pg_stat_activity where application_name = 'leases of this test'",
    );
    return rows.map(({ pid }) => pid);
  };
  await renewal.turn();
  const [first, ...others] = await backends();
  expect([typeof first, others]).toEqual(["number", []]);
  await renewal.turn();
  expect(await backends()).toEqual([first]);
  await database.query("select pg_terminate_backend($1)", [first]);
  await expect.poll(() => db.stats().total).toBe(0);
  await renewal.turn();
  const [second] = await backends();
  expect(second).not.toBe(first);
  expect(typeof second).toBe("number");
});
