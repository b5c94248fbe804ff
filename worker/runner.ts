import { type Database, DatabaseError } from "@/lib/db";
import { failpoint } from "@/lib/env/test-build";
import type { ChildJob, Execution, StopReason } from "@/lib/execution";
import type { Logger } from "@/lib/observability/log";
import {
  type AttemptEnd,
  attemptTimeout,
  type ClaimedJob,
  decideEnd,
  type ExecutionEnd,
  loadDefinitionVersion,
  type NewJob,
  notifyChanges,
  type RunnableDefinition,
  startAttempts,
} from "@/lib/queue";
import { AttemptOutputWriter } from "./attempt-output";
import { Batcher } from "./batcher";
import { killGroup } from "./kill-group";
import type { Leases } from "./leases";
import { type RunTools, runAttempt } from "./run-attempt";
import type { Settler } from "./settler";

const MOST_STARTS = 500;
/** Failures of a database that is away or busy; any other would come back with the next worker. */
const PASSES: ReadonlySet<DatabaseError["kind"]> = new Set(["unavailable", "retryable", "timeout"] as const);
/** Time after timeout and grace in which an attempt's end is still being recorded. */
const SETTLE_MS = 60_000;

export interface RunnerOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly leases: Pick<Leases, "hold" | "limit" | "drop" | "spawned">;
  readonly settler: Settler;
  readonly tools: RunTools;
  readonly logMaxBytes: number;
  readonly random: () => number;
  /** A place became free: that of a job which was held for so long. */
  readonly onFree: (ended: { readonly job: ClaimedJob; readonly seconds: number }) => void;
}

interface Running {
  readonly job: ClaimedJob;
  readonly controller: AbortController;
  readonly pids: Set<number>;
}

/** Runs claimed jobs: starts each attempt under its lease, watches over it, and records its end. */
export class Runner {
  /** A job that was lost and claimed again can be in it twice, until its first attempt has stopped. */
  private readonly running = new Set<Running>();
  private readonly definitions = new Map<string, Promise<RunnableDefinition>>();
  private readonly starts: Batcher<ClaimedJob, boolean>;
  private draining = false;
  private idle: (() => void)[] = [];

  constructor(private readonly options: RunnerOptions) {
    this.starts = new Batcher(async (jobs) => {
      const held = new Set(await startAttempts(options.db, jobs));
      notifyChanges(options.db, [...new Set(jobs.map((job) => job.laneNo))]);
      return jobs.map((job) => held.has(job.jobId));
    }, MOST_STARTS);
  }

  get count(): number {
    return this.running.size;
  }

  /** Runs jobs whose leases count from `since`, by `processClock`. */
  take(jobs: readonly ClaimedJob[], since: number): void {
    for (const job of jobs) void this.run(job, since);
  }

  /** Stops the given jobs, as far as this worker runs them: somebody canceled them. */
  cancel(jobIds: readonly string[]): void {
    for (const running of this.running) if (jobIds.includes(running.job.jobId)) this.stop(running, "cancel");
  }

  /** Resolves when nothing runs any more. After `graceMs`, what still runs is told to stop and is given back. */
  async drain(graceMs: number, onWaiting: (left: number, seconds: number) => void): Promise<void> {
    this.draining = true;
    const deadline = performance.now() + graceMs;
    const tick = setInterval(() => {
      onWaiting(this.running.size, Math.max(0, Math.ceil((deadline - performance.now()) / 1000)));
    }, 5000);
    const giveBack = setTimeout(() => {
      for (const running of this.running) this.stop(running, "shutdown");
    }, graceMs);
    if (this.running.size > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
    clearInterval(tick);
    clearTimeout(giveBack);
  }

  /** Kills what runs, at once: the process is about to leave. */
  killAll(): void {
    for (const { pids } of this.running) for (const pid of pids) killGroup(pid);
  }

  private stop(running: Running, reason: StopReason): void {
    if (!running.controller.signal.aborted) running.controller.abort(reason);
  }

  private async run(job: ClaimedJob, since: number): Promise<void> {
    const { log, leases, onFree } = this.options;
    const began = performance.now();
    const running: Running = { job, controller: new AbortController(), pids: new Set() };
    this.running.add(running);
    const leaseSeconds = Math.max(1, Math.round((job.leaseExpiresAt.getTime() - job.claimedAt.getTime()) / 1000));
    const { maxTimeoutSeconds } = this.options.tools;
    const renewForMs = (maxTimeoutSeconds + leaseSeconds) * 1000 + SETTLE_MS;
    leases.hold({ ...job, leaseSeconds, since, renewForMs }, (event) =>
      this.stop(running, event === "lost" ? "lease-lost" : "cancel"),
    );
    try {
      await this.attempt(running);
    } catch (error) {
      log.error({ err: error, job_id: job.jobId }, "an attempt could not be run; its lease will run out");
    } finally {
      leases.drop(job);
      this.running.delete(running);
      onFree({ job, seconds: (performance.now() - began) / 1000 });
      if (this.running.size === 0) for (const resolve of this.idle.splice(0)) resolve();
    }
  }

  private async attempt(running: Running): Promise<void> {
    const { job } = running;
    const { log, settler } = this.options;
    if (this.draining) return void (await settler.add(released(job), job.laneNo));
    const definition = await this.begin(running).catch((error: unknown) => this.giveBack(job, error));
    if (!definition) return;
    const fields = fieldsOf(job, definition);
    log.debug(fields, "attempt started");
    const execution = await this.execute(running, definition);
    let end = this.endOf(job, definition, execution);
    if (end === null) {
      log.warn(fields, "the lease was lost; the result is dropped");
      return;
    }
    let answer = await settler.add(end, job.laneNo);
    if (typeof answer === "object") {
      end = refusedEnd({ claimed: job, definition, random: this.options.random }, end, answer.refused);
      answer = await settler.add(end, job.laneNo);
    }
    const ended = { ...fields, status: end.status, outcome: end.outcome, error_type: end.errorType };
    if (answer === "lost") log.warn(ended, "the lease was lost; the result was refused");
    else log.info(ended, "attempt ended");
  }

  /** Null when the lease was lost before the attempt began; nothing has happened then. */
  private async begin({ job, controller }: Running): Promise<RunnableDefinition | null> {
    const { log, leases, tools } = this.options;
    const definition = await this.definitionOf(job);
    const overMs = (attemptTimeout(job, definition, tools.maxTimeoutSeconds) + definition.killGraceSeconds) * 1000;
    leases.limit(job, overMs + SETTLE_MS);
    if ((await this.starts.add(job)) && controller.signal.reason !== "lease-lost") return definition;
    log.warn(fieldsOf(job, definition), "the lease was lost before the attempt began");
    return null;
  }

  /** Gives a job back that the database was not there to start, instead of letting its lease run out. */
  private async giveBack(job: ClaimedJob, error: unknown): Promise<null> {
    if (!(error instanceof DatabaseError && PASSES.has(error.kind))) throw error;
    this.options.log.warn({ err: error, job_id: job.jobId }, "an attempt could not begin; its job is given back");
    await this.options.settler.add(released(job), job.laneNo);
    return null;
  }

  private async execute(running: Running, definition: RunnableDefinition): Promise<Execution> {
    const { job, controller, pids } = running;
    const { db, leases, tools, logMaxBytes } = this.options;
    const output = new AttemptOutputWriter({
      db,
      lease: job,
      laneNo: job.laneNo,
      mostBytes: logMaxBytes,
      onLost: () => this.stop(running, "lease-lost"),
    });
    const execution = await runAttempt(job, definition, {
      tools,
      hooks: {
        signal: controller.signal,
        onOutput: (stream, body) => output.write({ stream, body }),
        onProgress: (percent, message) => output.report(percent, message),
        onLog: (level, body, context) => output.write({ stream: "log", level, body, context }),
        onSpawn: (pid) => {
          pids.add(pid);
          leases.spawned(job, pid);
          failpoint("spawned");
        },
      },
    });
    pids.clear();
    await output.end();
    const droppedBytes = execution.output.droppedBytes + output.droppedLogBytes;
    return { ...execution, output: { ...execution.output, droppedBytes } };
  }

  /** Null when there is nothing to record: the lease is lost. */
  private endOf(job: ClaimedJob, definition: RunnableDefinition, execution: Execution): AttemptEnd | null {
    const { outcome, output, children } = execution;
    if (outcome.kind === "lease_lost") return null;
    const end = decideEnd({ claimed: job, definition, execution: outcome, output }, this.options.random);
    return children === undefined ? end : { ...end, children: children.map((child) => asChildOf(job, child)) };
  }

  private definitionOf({ definitionId, definitionVersion }: ClaimedJob): Promise<RunnableDefinition> {
    const key = `${definitionId}:${definitionVersion}`;
    const known = this.definitions.get(key);
    if (known) return known;
    const loading = loadDefinitionVersion(this.options.db, definitionId, definitionVersion);
    this.definitions.set(key, loading);
    loading.catch(() => this.definitions.delete(key));
    return loading;
  }
}

const fieldsOf = (job: ClaimedJob, { key }: RunnableDefinition) => ({
  job_id: job.jobId,
  tenant_id: job.tenantId,
  definition_key: key,
  attempt_no: job.leaseNo,
});

/** A child belongs to the job that asked for it, and goes on under its correlation id unless it has one of its own. */
const asChildOf = (job: ClaimedJob, child: ChildJob): NewJob => ({
  ...(job.correlationId === null ? {} : { correlationId: job.correlationId }),
  ...child,
  parentJobId: job.jobId,
  source: "system",
});

/** The end of an attempt whose children were refused: a failure that says so. */
function refusedEnd(
  { claimed, definition, random }: { claimed: ClaimedJob; definition: RunnableDefinition; random: () => number },
  { output }: AttemptEnd,
  reason: string,
): AttemptEnd {
  const execution: ExecutionEnd = { kind: "failed", errorType: "validation", message: reason };
  return decideEnd({ claimed, definition, execution, output }, random);
}

/** A job given back before it was started. */
const released = ({ jobId, leaseNo, tenantId }: ClaimedJob): AttemptEnd => ({
  jobId,
  leaseNo,
  tenantId,
  status: "released",
  retryInSeconds: 0,
  spent: false,
});
