import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { watchSnapshots } from "./watch-snapshots";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("the leader logs a session of another role that holds an old snapshot once, until it ends", async () => {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ process: "scheduler", level: "warn", format: "json", stream });
  const inTerm = () => Promise.reject(new Error("not used"));
  const leader = { leaderId: "l", term: 1 };
  const turnOf = ({ turn }: ReturnType<typeof watchSnapshots>) =>
    turn({ db: make.scheduler, web: make.web, leader, log, random: () => 0.5, inTerm });
  const watch = watchSnapshots({ oldSeconds: 0 });
  const holder = new pg.Client({ connectionString: database.urlFor("web"), application_name: "forgotten" });
  await holder.connect();
  const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = String(rows[0]?.pid);
  await holder.query("begin isolation level repeatable read");
  await holder.query("select 1 from app.tenants");
  await turnOf(watch);
  await turnOf(watch);
  const logged = lines.map((line) => JSON.parse(line)).filter(({ id }) => id === pid);
  expect(logged).toMatchObject([
    { kind: "session", application_name: "forgotten", role: "leasehold_web", state: "idle in transaction" },
  ]);
  expect(watch.notices().join()).toContain(`session ${pid} (forgotten) has held a snapshot`);
  // A young snapshot is not reported.
  const patient = watchSnapshots();
  await turnOf(patient);
  expect(patient.notices()).toEqual([]);
  await holder.query("rollback");
  await turnOf(watch);
  expect(watch.notices().join()).not.toContain(pid);
  await holder.end();
});
