/*
 * Tests with real processes. `openStage` below makes a database with a tenant, the fixture commands and a folder; tests
 * start workers and schedulers on it and read the commands' diaries. All processes end with the test file.
 */

import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import {
  type AttemptRead,
  cancelJob,
  type DefinitionInput,
  getJob,
  type Job,
  type LogEntry,
  listAttempts,
  type NewJob,
  readLogs,
} from "@/lib/queue/testing";
import { type TestDatabase, testDatabase } from "@/lib/testing/database";
import { processesAbout } from "@/lib/testing/installation";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { whenDone } from "@/lib/testing/when-done";

const MOST_LOG_LINES = 1000;

/** The payload of `act`; see commands/scripts/act.mjs. */
export interface Act {
  readonly diary?: string;
  readonly run_ms?: number;
  /** Ends sooner when this file appears. */
  readonly until?: string;
  readonly on_term?: "exit" | "ignore";
  readonly exit?: number;
  /** Printed on both streams. */
  readonly say?: string;
  /** The result of the command. */
  readonly result?: unknown;
  readonly child?: boolean;
  /** From this attempt on, runs for `then_ms` instead. */
  readonly from_attempt?: number;
  readonly then_ms?: number;
}

export interface DiaryLine {
  readonly attempt: number;
  readonly what: string;
  readonly at: number;
}

/**
 * Makes a database with a tenant, the fixture commands as definitions with leases of five seconds, and a folder for
 * files.
 */
export async function openStage({ on }: { readonly on?: TestDatabase } = {}) {
  const database = on ?? (await testDatabase());
  const factory = makeFactory(database);
  const base = makeFolder();
  const scope = await factory.tenant("acme");
  const define = (key: string, input: Partial<DefinitionInput> = {}) =>
    factory.definition({ key, command_key: key, lease_seconds: 5, kill_grace_seconds: 1, ...input });
  for (const key of ["act", "quick", "nap"]) await define(key);
  whenDone(() => factory.close());

  const settings = { COMMANDS_FILE: path.resolve("e2e/processes/commands/commands.json") };
  const env = {
    ...settings,
    LEASEHOLD_HOME: path.join(base, "home"),
    PROVIDER_ROOTS: base,
    // The fixture commands write their diaries here.
    COMMAND_FOLDERS: base,
    SHUTDOWN_GRACE_SECONDS: "5",
  };
  const startWorker = (more: Record<string, string> = {}, stdout?: "full" | "unread") =>
    startProcess("worker", { database, env: { ...env, ...more }, stdout });
  const startScheduler = (more: Record<string, string> = {}) =>
    startProcess("scheduler", { database, env: { LEASEHOLD_HOME: env.LEASEHOLD_HOME, ...more } });

  const enqueue = async (definitionKey: string, payload: unknown = {}, job: Partial<NewJob> = {}): Promise<string> =>
    (await factory.job(scope, { definitionKey, payload, ...job })).id;
  const read = async (jobId: string): Promise<Job> => {
    const job = await getJob(factory.web, scope, jobId);
    if (!job) throw new Error("there is no such job");
    return job;
  };
  const attempts = async (jobId: string): Promise<AttemptRead[]> => {
    const all: AttemptRead[] = [];
    do {
      const beforeNo = all.at(-1)?.attempt_no;
      all.push(...((await listAttempts(factory.web, scope, jobId, { limit: 500, beforeNo, tails: true })) ?? []));
    } while (all.at(-1)?.has_older);
    return all.toSorted((a, b) => a.attempt_no - b.attempt_no);
  };
  const logs = async (jobId: string): Promise<readonly LogEntry[]> => {
    const lines: LogEntry[] = [];
    for (;;) {
      const after = lines.at(-1);
      const page = await readLogs(factory.web, scope, jobId, { limit: MOST_LOG_LINES, ...(after ? { after } : {}) });
      lines.push(...(page?.lines ?? []));
      if (!page?.hasMore) return lines;
    }
  };
  const when = (jobId: string, wanted: (job: Job) => boolean, what: string, withinMs = 30_000): Promise<Job> =>
    waitFor(
      async () => {
        const job = await read(jobId);
        return wanted(job) ? job : null;
      },
      { withinMs, what: `${what} of job ${jobId}` },
    );

  return {
    database,
    factory,
    base,
    scope,
    define,
    env,
    startWorker,
    startScheduler,
    enqueue,
    act: (what: Act, job: Partial<NewJob> = {}) => enqueue("act", what, job),
    read,
    attempts,
    statuses: async (jobId: string) => (await attempts(jobId)).map(({ status }) => status),
    logs,
    cancel: (jobId: string) => cancelJob(factory.web, scope, jobId),
    settled: (jobId: string, withinMs?: number) => when(jobId, (job) => job.finished_at !== null, "the end", withinMs),
    running: (jobId: string, withinMs?: number) =>
      when(jobId, (job) => job.status === "running" && processesOf(jobId).length > 0, "the start", withinMs),
    waiting: (jobId: string, withinMs?: number) =>
      when(jobId, (job) => job.status === "queued", "the return", withinMs),
    diaryFile: (name: string) => path.join(base, name),
  };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;

/**
 * Makes a folder in which every user may write and only a file's owner may delete it, so that scripts copied below it
 * are trusted. Deleted when the calling test or test file is done.
 */
export function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "leasehold processes ")));
  chmodSync(folder, 0o1777);
  whenDone(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Returns the living processes of a job's command, from any worker. */
export const processesOf = (jobId: string) => processesAbout(`JOB_ID=${jobId}`);

export async function nothingLeftOf(jobId: string, withinMs = 3000): Promise<void> {
  await waitFor(() => processesOf(jobId).length === 0, { withinMs, what: `the end of every process of job ${jobId}` });
}

/** Returns what `act` wrote to its diary, in order. */
export function readDiary(file: string): DiaryLine[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [attempt, what = "", at] = line.split(" ");
    return { attempt: Number(attempt), what, at: Number(at) };
  });
}

/** Fails unless every given job has exactly one end. */
export async function expectOneEndEach({ database }: Stage, jobIds: readonly string[]): Promise<void> {
  const rows = await database.query<{ job_id: string; n: number; live: boolean }>(
    `select j.id as job_id, (select count(*)::int from app.job_attempts a
       where a.job_id = j.id and a.outcome is not null and not a.superseded) as n,
       exists (select from app.live_jobs l where l.job_id = j.id) as live
     from app.jobs j where j.id = any ($1::uuid[])`,
    [jobIds],
  );
  expect(rows).toHaveLength(jobIds.length);
  expect(rows.filter(({ n, live }) => n !== 1 || live)).toEqual([]);
}
