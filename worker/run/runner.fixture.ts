import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import type { Database } from "@/lib/db";
import { defineJob, type JobHandler, loadCommandRegistry } from "@/lib/execution";
import { createLogger } from "@/lib/observability/log";
import { type ClaimedJob, getJob, listAttempts, readLogs } from "@/lib/queue/testing";
import type { TestDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import type { LeaseEvent } from "../lease/leases";
import { Settler } from "../settle/settler";
import type { RunTools } from "./run-attempt";
import { JobRunner } from "./runner";

/** A running attempt that the test ends. It ignores its signal. */
interface UnderWay {
  readonly attempt: number;
  readonly stopped: () => boolean;
  readonly end: () => void;
}

/** State of a job that was given back without having begun. */
export const UNSPENT = ["queued", 0, "released"];
export const noNotice = () => undefined;

/** Runners of a handler whose attempts end when a test says so, and a tenant with jobs for it. */
export async function runnerStage(database: TestDatabase) {
  const make = makeFactory(database);
  const scope = await make.tenant();
  const sharedFolder = mkdtempSync(path.join(tmpdir(), "leasehold-runner-"));
  chmodSync(sharedFolder, 0o755); // commands may run as another user
  const log = createLogger({ process: "worker", level: "silent", format: "json" });
  const registry = await loadCommandRegistry("e2e/processes/commands/commands.json", { sharedFolder });
  const { key, id: definitionId } = await make.definition({
    executor: "handler",
    kill_grace_seconds: 60,
    arg_schema: { type: "object", properties: { n: { type: "integer" } }, additionalProperties: false },
  });
  const underWay: UnderWay[] = [];
  /** Sends a lease event, as the lease thread would, by attempt. */
  const leaseEvents = new Map<number, (event: LeaseEvent) => void>();
  const handler: JobHandler = defineJob({
    key,
    schema: z.looseObject({}),
    run: ({ attempt, signal }) =>
      new Promise((resolve) => {
        underWay.push({ attempt, stopped: () => signal.aborted, end: () => resolve({ attempt }) });
      }),
  });

  const runnerOn = (db: Database = make.worker, slots = 10, more: Partial<RunTools> = {}): JobRunner =>
    new JobRunner({
      workerId: "the-runner",
      db,
      log,
      leases: {
        hold: (leases, onEvent) => {
          for (const lease of leases) leaseEvents.set(lease.leaseNo, (event) => onEvent(lease, event));
        },
        limit: () => undefined,
        drop: () => undefined,
        spawned: () => undefined,
      },
      settler: new Settler(make.worker, log, () => 0.5),
      tools: {
        worker: make.worker,
        web: make.web,
        registry,
        handlers: new Map([[key, handler]]),
        providerRoots: [],
        maxTimeoutSeconds: 3600,
        ...more,
      },
      logMaxBytes: 1000,
      random: () => 0.5,
      slots,
      onFree: () => undefined,
    });

  const claimAgain = async (jobId: string): Promise<ClaimedJob> => {
    const job = (await make.claim("the-runner")).find((one) => one.jobId === jobId);
    if (!job) throw new Error("the job was not claimed");
    return job;
  };
  const claimed = async (payload: unknown = {}): Promise<ClaimedJob> =>
    claimAgain((await make.job(scope, { definitionKey: key, payload })).id);
  const statuses = async (jobId: string) =>
    ((await listAttempts(make.web, scope, jobId, { limit: 500, tails: true })) ?? [])
      .toSorted((a, b) => a.attempt_no - b.attempt_no)
      .map((a) => a.status);

  return {
    make,
    scope,
    definition: { key, id: definitionId },
    underWay,
    leaseEvents,
    runnerOn,
    claimed,
    claimAgain,
    statuses,
    logsOf: async (jobId: string) =>
      (await readLogs(make.web, scope, jobId, { limit: 1000 }))?.lines.map(({ body }) => body),
    statusOf: async (jobId: string) => (await getJob(make.web, scope, jobId))?.status,
    /** The job's status, the attempts that count, and how each ended. */
    spentOn: async (jobId: string) => {
      const job = await getJob(make.web, scope, jobId);
      return [job?.status, job?.attempt_count, ...(await statuses(jobId))];
    },
    /** Clears the attempts of the previous test. */
    reset: () => {
      underWay.length = 0;
      leaseEvents.clear();
    },
    close: async () => {
      await make.close();
      rmSync(sharedFolder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
