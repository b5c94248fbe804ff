import { afterAll, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { registerWorker } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { tzTurn } from "./loops";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("the leader warns once per change while live processes have different time-zone data", async () => {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ process: "scheduler", level: "warn", format: "json", stream });
  const look = tzTurn();
  const inTerm = () => Promise.reject(new Error("not used"));
  const leader = { leaderId: "l", term: 1 };
  const turn = () => look({ db: make.scheduler, web: make.web, leader, log, random: () => 0.5, inTerm });
  const worker = (workerId: string, tzVersion: string | null, isolation = "none") =>
    registerWorker(make.worker, {
      ...{ workerId, hostname: "h", pid: 1, version: "0", label: "", queues: [], definitions: [], capacity: 1 },
      ...{ isolation, tzVersion },
    });
  await worker("a", "2025b");
  await worker("remote", null, "remote");
  await turn();
  expect(lines).toEqual([]);
  await worker("b", "2026a");
  await turn();
  await turn();
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(["processes have different time-zone data"]);
  expect(lines[0]).toContain("2025b");
  await worker("c", "2026b");
  await turn();
  expect(lines).toHaveLength(2);
  await database.query("update app.job_workers set stopped_at = app.now() where worker_id <> 'c'");
  await turn();
  expect(lines).toHaveLength(2);
});
