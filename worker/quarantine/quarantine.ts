/**
 * Runs attempts that may have crashed a worker, each in a process of its own. Start with `Quarantine`.
 *
 * A suspect that crashes its process again costs its own attempt only; the worker and its other jobs go on.
 * `QuarantineProcess` is the worker's side of a process, `quarantine.entry.ts` the process itself.
 */

import { dropQuarantine } from "@/lib/env/test-build";
import type { Execution, Outcome, StopReason } from "@/lib/execution";
import { stoppedOutcome } from "@/lib/execution/command/outcome";
import { EMPTY_OUTPUT } from "@/lib/execution/refused";
import type { Logger } from "@/lib/observability/log";
import {
  attemptTimeout,
  type ClaimedJob,
  type Executor,
  MAX_RECLAIMS,
  type RunnableDefinition,
} from "@/lib/queue/worker";
import { SlotsByTenant } from "../claim/slots-by-tenant";
import { type QuarantineEnd, QuarantineProcess, type QuarantineProcessOptions } from "./quarantine-process";
import { OVER_MEMORY_LIMIT } from "./quarantine-protocol";

/** Limit on processes, because each takes about as much memory as an idle worker. */
const MOST_PROCESSES = 8;
/** Shorter than the time for recording an attempt's end after its time limit; its lease is renewed until then. */
const WAIT_MS = 30_000;
/** Time for a process to start on a busy machine. */
const START_MS = 15_000;
const IDLE_MS = 10_000;
const CONVICTED_MS = 10 * 60_000;
/** Time after the grace period in which a stopped process may report how its attempt ended. */
const ANSWER_MS = 5000;
const START_AGAIN_SECONDS = 10;

/** A suspect that waits for a process. */
interface Waiter {
  readonly tenantId: string;
  /** Ends the wait, with a process or without. */
  readonly take: (process: QuarantineProcess | null) => void;
}

/** An attempt that runs in quarantine. */
interface Suspect {
  readonly job: ClaimedJob;
  readonly stopReason: StopReason | undefined;
  readonly signal: AbortSignal;
  readonly beganAt?: number | undefined;
  /** Records a process group of the attempt. */
  spawned(pid: number): void;
}

interface QuarantineOptions extends QuarantineProcessOptions {
  readonly log: Logger;
  readonly maxTimeoutSeconds: number;
}

/**
 * Runs suspects, one per process, so that a crash costs this attempt and no other. A tenant has at most half of the
 * processes that other tenants leave free, because a suspect may run for hours.
 *
 * Suspects are jobs whose current run lost a lease. After a crash here, all jobs of the same tenant and definition are
 * suspects for ten minutes. Commands and webhooks that lost two leases run here for their own protection. A process that
 * survives is reused for the next suspect.
 */
export class Quarantine {
  private readonly idle: { readonly process: QuarantineProcess; readonly timer: NodeJS.Timeout }[] = [];
  private readonly waiting = new Set<Waiter>();
  private readonly running = new SlotsByTenant();
  private readonly convicted = new Map<string, number>();
  private processes = 0;
  /** True when the worker leaves because of its memory: a handler whose job it gives back may be the reason. */
  isOverMemory = false;

  constructor(private readonly options: QuarantineOptions) {}

  /** True if a job has to run in quarantine. Costs next to nothing while there are no suspects. */
  takes(job: ClaimedJob, executor: Executor): boolean {
    if (dropQuarantine()) return false;
    // A command or a webhook cannot harm a worker; here it is safe from handlers that can.
    if (executor !== "handler") return job.reclaims > 1;
    if (job.reclaims > 0) return true;
    if (this.convicted.size === 0) return false;
    const until = this.convicted.get(keyOf(job));
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.convicted.delete(keyOf(job));
    return false;
  }

  /** Runs an attempt to its end. Never rejects. @param onSpawned is called with the process groups of its commands */
  async run(suspect: Suspect, definition: RunnableDefinition, onSpawned: (pid: number) => void): Promise<Execution> {
    const { tenantId } = suspect.job;
    const process = await this.wait(tenantId, suspect.signal);
    if (!process) return withoutOutput(stoppedOutcome(suspect.stopReason ?? "shutdown", "it had not started"));
    suspect.spawned(process.pid);
    const { execution, isClean } = await this.watch(process, suspect, { definition, onSpawned });
    this.running.left(tenantId);
    if (isClean) this.putBack(process);
    else process.kill();
    this.handOut();
    return execution;
  }

  /** Ends the idle processes. */
  close(): void {
    for (const { process, timer } of this.idle.splice(0)) {
      clearTimeout(timer);
      process.release();
    }
  }

  /** Resolves with a process, or null when the attempt was stopped or waited too long before one was free. */
  private wait(tenantId: string, signal: AbortSignal): Promise<QuarantineProcess | null> {
    return new Promise((resolve) => {
      const take = (process: QuarantineProcess | null) => {
        this.waiting.delete(waiter);
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        resolve(process);
      };
      const waiter: Waiter = { tenantId, take };
      const giveUp = () => take(null);
      const timer = setTimeout(giveUp, WAIT_MS);
      signal.addEventListener("abort", giveUp, { once: true });
      this.waiting.add(waiter);
      if (signal.aborted) giveUp();
      else this.handOut();
    });
  }

  /** Gives free processes to the suspects that have waited longest, among those whose tenants have a share left. */
  private handOut(): void {
    for (const { tenantId, take } of this.waiting) {
      if (this.running.halfOf(tenantId, MOST_PROCESSES) === 0) continue;
      const process = this.freeProcess();
      if (!process) return;
      this.running.took(tenantId);
      take(process);
    }
  }

  private freeProcess(): QuarantineProcess | null {
    const idle = this.idle.pop();
    if (!idle) return this.processes < MOST_PROCESSES ? this.start() : null;
    clearTimeout(idle.timer);
    return idle.process;
  }

  private start(): QuarantineProcess {
    const process = new QuarantineProcess(this.options);
    this.processes += 1;
    void process.exited.then(() => this.gone(process));
    return process;
  }

  private gone(process: QuarantineProcess): void {
    this.processes -= 1;
    const at = this.idle.findIndex((one) => one.process === process);
    for (const { timer } of at < 0 ? [] : this.idle.splice(at, 1)) clearTimeout(timer);
    this.handOut();
  }

  private putBack(process: QuarantineProcess): void {
    const timer = setTimeout(() => {
      this.idle.splice(
        this.idle.findIndex((one) => one.process === process),
        1,
      );
      process.release();
    }, IDLE_MS);
    this.idle.push({ process, timer });
  }

  /** Follows one attempt. `isClean` means that nothing of the attempt is left in the process. */
  private async watch(
    process: QuarantineProcess,
    suspect: Suspect,
    { definition, onSpawned }: { readonly definition: RunnableDefinition; readonly onSpawned: (pid: number) => void },
  ): Promise<{ readonly execution: Execution; readonly isClean: boolean }> {
    const { job, signal } = suspect;
    let killed: StopReason | undefined;
    const kill = (reason: StopReason) => {
      killed ??= reason;
      process.kill();
    };
    const patienceMs = definition.killGraceSeconds * 1000 + ANSWER_MS;
    const limitMs = attemptTimeout(job, definition, this.options.maxTimeoutSeconds) * 1000 + patienceMs;
    const timers = [setTimeout(() => kill("timeout"), limitMs + START_MS)];
    const stop = () => {
      const reason = suspect.stopReason ?? "shutdown";
      if (reason === "lease-lost") return kill(reason);
      process.stop(reason);
      timers.push(setTimeout(() => kill(reason), patienceMs));
    };
    signal.addEventListener("abort", stop, { once: true });
    const running = process.run({ job, isNoted: suspect.beganAt !== undefined }, onSpawned);
    if (signal.aborted) stop();
    const end = await running;
    signal.removeEventListener("abort", stop);
    for (const timer of timers) clearTimeout(timer);
    if (!("exitCode" in end)) return { execution: end, isClean: !signal.aborted && end.outcome.kind !== "timeout" };
    if (killed) return { execution: withoutOutput(stoppedOutcome(killed, "its process was killed")), isClean: false };
    const wasReady = await process.ready;
    return { execution: wasReady ? this.convict(job, end) : withoutOutput(this.cannotStart()), isClean: false };
  }

  /** Records that a handler has ended its process, which ran nothing else. */
  private convict(job: ClaimedJob, { exitCode, signal }: QuarantineEnd): Execution {
    const now = performance.now();
    for (const [key, until] of this.convicted) if (until <= now) this.convicted.delete(key);
    this.convicted.set(keyOf(job), now + CONVICTED_MS);
    const how = howItEnded({ exitCode, signal });
    const fields = { job_id: job.jobId, tenant_id: job.tenantId, attempt_no: job.leaseNo, how };
    this.options.log.warn(fields, "a handler ended its quarantine");
    const outcome: Outcome = {
      kind: "failed",
      errorType: "worker_lost",
      message: `The attempt ended its quarantine process (${how}).`,
      ...(job.attemptsSpent + 1 >= MAX_RECLAIMS ? { retryable: false } : {}),
    };
    const output = {
      ...EMPTY_OUTPUT,
      ...(exitCode === null ? {} : { exitCode }),
      ...(signal === null ? {} : { signal }),
    };
    return { outcome, output };
  }

  /** A fault of the machine: the attempt did not begin, and none is spent. */
  private cannotStart(): Outcome {
    this.options.log.error("a process for a suspected job could not start; the job waits");
    return { kind: "snoozed", seconds: START_AGAIN_SECONDS, reason: "The process for it could not start." };
  }
}

const keyOf = ({ tenantId, definitionId }: ClaimedJob): string => `${tenantId} ${definitionId}`;

const withoutOutput = (outcome: Outcome): Execution => ({ outcome, output: EMPTY_OUTPUT });

function howItEnded({ exitCode, signal }: QuarantineEnd): string {
  if (signal !== null) return signal;
  return exitCode === OVER_MEMORY_LIMIT ? "over the memory limit" : `exit code ${exitCode}`;
}
