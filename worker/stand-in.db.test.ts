import { afterAll, beforeEach, expect, test } from "vitest";
import { DatabaseError } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import { getJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { StandInCursors, standInForLeader } from "./stand-in";

const LATER_MS = 60_000;
const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

let lines: string[];
beforeEach(() => {
  lines = [];
});
const log = createLogger({
  process: "worker",
  level: "warn",
  format: "json",
  stream: { write: (line: string) => void lines.push(line) },
});
const standIn = (leaderAgeSeconds: number | null, db = make.worker) =>
  standInForLeader(db, { leaderAgeSeconds, cursors: new StandInCursors(), random: () => 0, log });

test.each([10.1, null])(
  "a worker does the leader's urgent work when no leader lives (age %s), and otherwise does not",
  async (age) => {
    const running = await make.runningJob(scope);
    const due = await make.job(scope, { scheduledFor: new Date(Date.now() + LATER_MS / 2) });
    const tooLate = await make.job(scope, {
      scheduledFor: new Date(Date.now() + LATER_MS / 3),
      expiresAt: new Date(Date.now() + LATER_MS / 2),
    });
    const look = async () => {
      const [row] = await database.query("select ready from app.live_jobs where job_id = $1", [due.id]);
      const jobs = await Promise.all([running.jobId, tooLate.id].map((id) => getJob(make.web, scope, id)));
      return [row?.ready, ...jobs.map((job) => job?.status)];
    };
    const held = "select claimed_by_worker as id from app.live_jobs where job_id = $1";
    const [holder] = await database.query<{ id: string }>(held, [running.jobId]);
    await database.moveClock(LATER_MS);
    await standIn(10);
    expect(await look()).toEqual([false, "running", "queued"]);
    await standIn(age);
    const [line] = lines.map((text) => JSON.parse(text)).filter(({ msg }) => msg === "leases expired");
    expect(line?.jobs).toContainEqual({ job_id: running.jobId, worker_id: holder?.id });
    expect(await look()).toEqual([true, "queued", "expired"]);
    await database.moveClock(0);
  },
);

test("a worker that fails as a stand-in logs it and continues to claim", async () => {
  const refuse = () => Promise.reject(new DatabaseError({ kind: "other" }));
  await standIn(null, { ...make.worker, run: refuse, transaction: refuse });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("standing in for the leader failed");
});
