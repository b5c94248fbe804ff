/**
 * Runs claimed jobs: begins each attempt under its lease, stops it when the lease is lost, and records its end. Start
 * with `JobRunner`, then `runByExecutor`, which picks handler, command or webhook. An attempt is marked as begun before
 * its first side effect. A job whose handler has not run is given back without costing an attempt.
 */

import { type Database, isUnavailable } from "@/lib/db";
import type { StopReason } from "@/lib/execution";
import type { Logger } from "@/lib/observability/log";
import {
  type ClaimedJob,
  DefinitionVersions,
  givenBackEnd,
  notifyChanges,
  type RunnableDefinition,
} from "@/lib/queue/worker";
import { Pace } from "../claim/pace";
import { killGroup } from "../lease/kill-group";
import { processClock } from "../lease/lease-protocol";
import type { Leases } from "../lease/leases";
import { LONGEST_WAIT_MS, overMs, renewForMs } from "../lease/renew-for";
import type { Settler } from "../settle/settler";
import { endOf, fieldsOf, logEnd, plainEndOf, refusedEnd } from "./attempt-ends";
import { type Begun, BegunMarks } from "./begun-marks";
import { JobInFlight } from "./job-in-flight";
import type { RunTools } from "./run-attempt";
import { runWithOutput } from "./run-with-output";
import { Waiting } from "./waiting";

/** Nothing more is claimed while this many ends wait to be stored. */
const MOST_UNSETTLED = 1000;
const LOOK_AT_AGE_MS = 250;

export interface JobRunnerOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly workerId: string;
  readonly leases: Pick<Leases, "hold" | "limit" | "drop" | "spawned">;
  readonly settler: Settler;
  readonly tools: RunTools;
  readonly logMaxBytes: number;
  readonly random: () => number;
  /** Slots: how many attempts run at once. */
  readonly slots: number;
  /** How many attempts that only wait for another server may run beside the slots. */
  readonly mostAside?: number;
  /** Called when a slot becomes free, and when a job leaves the worker, with its seconds in a slot. */
  readonly onFree: (ended?: { readonly job: ClaimedJob; readonly seconds: number }) => void;
}

/** How many jobs may be claimed now. */
export interface Capacity {
  /** Jobs that would run immediately. */
  readonly free: number;
  /** Quick jobs on top, which wait here for a slot. */
  readonly ahead: number;
}

export class JobRunner {
  /** Jobs in flight. A job that was lost and claimed again can be in it twice, until its first attempt has stopped. */
  private readonly inFlight = new Set<JobInFlight>();
  /** Jobs of claims sent until this time (`processClock`) are given back on arrival if they have to wait for a slot. */
  private refuseClaimsBefore = Number.NEGATIVE_INFINITY;
  private readonly waiting = new Waiting<JobInFlight>();
  private busy = 0;
  private aside = 0;
  private readonly pace = new Pace();
  readonly definitions = new DefinitionVersions();
  readonly begunMarks: BegunMarks;
  private ageTimer: NodeJS.Timeout | undefined;
  private draining = false;
  private idle: (() => void)[] = [];
  private readonly around: Parameters<typeof runWithOutput>[2];

  constructor(private readonly options: JobRunnerOptions) {
    this.around = {
      ...options,
      onLost: (attempt) => attempt instanceof JobInFlight && this.stop(attempt, "lease-lost"),
    };
    this.begunMarks = new BegunMarks({ ...options, onBegun: (jobs) => this.notifyBegun(jobs) });
  }

  /** The number of jobs in flight: running, waiting for a slot, or having their end recorded. */
  get count(): number {
    return this.inFlight.size;
  }

  get running(): number {
    return this.busy + this.aside;
  }

  /** Offers capacity ahead only while at most half of it is occupied, so that a claim is worth its round trip. */
  capacity(): Capacity {
    const unsettled = this.inFlight.size - this.running - this.waiting.size;
    if (this.draining || unsettled >= MOST_UNSETTLED) return { free: 0, ahead: 0 };
    const ahead = this.pace.ahead(this.options.slots);
    return {
      free: Math.max(0, this.options.slots - this.busy - this.waiting.size),
      ahead: this.waiting.size * 2 <= ahead ? ahead - this.waiting.size : 0,
    };
  }

  isQuick(definitionId: string): boolean {
    return this.pace.isQuick(definitionId);
  }

  /** Runs jobs as slots become free. Their leases count from `since`, by `processClock`. */
  take(jobs: readonly ClaimedJob[], since: number): void {
    const takenAt = performance.now();
    const { maxTimeoutSeconds } = this.options.tools;
    const taken = jobs.map(
      (job) => new JobInFlight(job, takenAt, since, renewForMs(job, this.definitions.ifKnown(job), maxTimeoutSeconds)),
    );
    this.options.leases.hold(taken, (lease, event) => this.stop(lease, event === "lost" ? "lease-lost" : "cancel"));
    this.begunMarks.took(taken);
    for (const inFlight of taken) this.inFlight.add(inFlight);
    for (const inFlight of taken) {
      if (inFlight.job.hasBegun && inFlight.isOver()) inFlight.stop("lease-lost");
      // A job that was begun with its claim was claimed for a free slot.
      if (inFlight.job.hasBegun && this.busy < this.options.slots) this.runInSlot(inFlight);
      else this.waiting.add(inFlight);
    }
    if (since <= this.refuseClaimsBefore) this.giveBackWaiting(taken.filter(({ phase }) => phase === "waiting"));
    this.notifyBegun(jobs.filter((job) => job.hasBegun));
    this.fill();
  }

  /** Stops those of the given jobs that are in flight here, because they were canceled. */
  cancel(jobIds: readonly string[]): void {
    const asked = new Set(jobIds);
    for (const inFlight of [...this.inFlight]) if (asked.has(inFlight.job.jobId)) this.stop(inFlight, "cancel");
  }

  /** Gives back jobs that wait for a slot and, on arrival, jobs of claims already sent that have to wait for one. */
  giveBackAhead(): void {
    this.refuseClaimsBefore = processClock();
    this.giveBackWaiting(this.waiting.all());
  }

  /** Resolves when no job is in flight. After `graceMs`, running attempts are stopped and their jobs given back. */
  async drain(graceMs: number, onWaiting: (left: number, seconds: number) => void): Promise<void> {
    this.draining = true;
    this.fill();
    const deadline = performance.now() + graceMs;
    const secondsLeft = () => Math.max(0, Math.ceil((deadline - performance.now()) / 1000));
    const tick = setInterval(() => onWaiting(this.inFlight.size, secondsLeft()), 5000);
    const atLast = setTimeout(() => {
      for (const inFlight of [...this.inFlight]) this.stop(inFlight, "shutdown");
    }, graceMs);
    if (this.inFlight.size > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
    clearInterval(tick);
    clearTimeout(atLast);
  }

  /** Kills all process groups immediately: the process is about to exit. */
  killAll(): void {
    for (const { pids } of this.inFlight) for (const pid of pids) killGroup(pid);
  }

  private notifyBegun(begun: readonly ClaimedJob[]): void {
    notifyChanges(this.options.db, [...new Set(begun.map((job) => job.laneNo))]);
  }

  private fill(): void {
    while (this.draining || this.busy < this.options.slots) {
      const next = this.waiting.next();
      if (!next) break;
      this.runInSlot(next);
    }
    if (this.waiting.size > 0) this.ageTimer ??= setTimeout(() => this.giveBackOld(), LOOK_AT_AGE_MS);
  }

  // A job that waits this long may have been paused meanwhile, or another worker could have run it by now.
  private giveBackOld(): void {
    this.ageTimer = undefined;
    const old = this.waiting.all().filter(({ takenAt }) => takenAt < performance.now() - LONGEST_WAIT_MS);
    if (old.length > 0) this.pace.stuck();
    this.giveBackWaiting(old);
    this.fill();
  }

  private giveBackWaiting(waiting: readonly JobInFlight[]): void {
    for (const inFlight of waiting) {
      this.waiting.remove(inFlight);
      inFlight.phase = "ended";
      void this.see(inFlight, () => this.giveBack(inFlight));
    }
  }

  private runInSlot(inFlight: JobInFlight): void {
    inFlight.phase = "running";
    inFlight.ranMs = -performance.now();
    this.busy += 1;
    void this.see(inFlight, () => this.attempt(inFlight));
  }

  private stop(inFlight: JobInFlight, reason: StopReason): void {
    inFlight.stop(reason);
    // The attempt takes a slot only to end: its handler does not run.
    if (inFlight.phase !== "waiting") return;
    this.waiting.remove(inFlight);
    this.runInSlot(inFlight);
  }

  private vacate(inFlight: JobInFlight): void {
    const { phase } = inFlight;
    inFlight.phase = "ended";
    if (phase === "running") this.busy -= 1;
    else if (phase === "aside") this.aside -= 1;
    else return;
    inFlight.ranMs += performance.now();
    this.fill();
    this.options.onFree();
  }

  // A delivery only waits for another server: many slow receivers must not take up the slots.
  private stepAside(inFlight: JobInFlight): void {
    if (inFlight.phase !== "running" || this.aside >= (this.options.mostAside ?? 0)) return;
    inFlight.phase = "aside";
    this.busy -= 1;
    this.aside += 1;
    this.fill();
    this.options.onFree();
  }

  /** Follows one job until it leaves the worker. */
  private async see(inFlight: JobInFlight, work: () => Promise<void>): Promise<void> {
    const { log, leases, onFree } = this.options;
    const { job } = inFlight;
    let isRecorded = true;
    try {
      await work();
    } catch (error) {
      isRecorded = false;
      log.error({ err: error, job_id: job.jobId }, "attempt could not be run, its lease will expire");
    } finally {
      leases.drop(inFlight);
      this.vacate(inFlight);
      this.inFlight.delete(inFlight);
      this.begunMarks.ended(inFlight, isRecorded);
      onFree({ job, seconds: inFlight.ranMs / 1000 });
      if (this.inFlight.size === 0) for (const resolve of this.idle.splice(0)) resolve();
    }
  }

  private async giveBack({ job }: JobInFlight): Promise<void> {
    await this.options.settler.add(givenBackEnd(job), job.laneNo);
  }

  private async attempt(inFlight: JobInFlight, { log, settler, random } = this.options): Promise<void> {
    const { job } = inFlight;
    // The handler never ran, so giving the job back costs no attempt, if the lease was not taken already.
    if (this.draining || inFlight.isLost) return this.giveBack(inFlight);
    let definition = this.definitions.ifKnown(job);
    let begun: Begun = "begun";
    try {
      definition ??= await this.definitionOf(inFlight);
      if (!job.hasBegun || !inFlight.isInTime()) begun = await this.begunMarks.begin(inFlight);
    } catch (error) {
      return this.giveBackAfter(inFlight, error);
    }
    if (begun !== "begun" || inFlight.isLost) {
      if (begun !== "expired") log.warn(fieldsOf(job, definition), "the lease was lost before the attempt began");
      return begun === "lost" ? undefined : this.giveBack(inFlight);
    }
    const isVerbose = log.isLevelEnabled("debug");
    if (isVerbose) log.debug(fieldsOf(job, definition), "attempt started");
    if (definition.executor === "webhook") this.stepAside(inFlight);
    const began = performance.now();
    const execution = await runWithOutput(inFlight, definition, this.around);
    this.pace.ended(job.definitionId, performance.now() - began);
    inFlight.forgetProcesses();
    const ran = { claimed: job, definition, random };
    const plain = plainEndOf(inFlight, execution);
    let end = plain ?? (await endOf({ ...this.options, ...ran, beganAt: inFlight.beganAt }, execution));
    if (end === null) return log.warn(fieldsOf(job, definition), "lease lost, result dropped");
    const stored = settler.add(end, job.laneNo);
    this.vacate(inFlight);
    let answer = await stored;
    if (typeof answer === "object") {
      end = await refusedEnd({ ...this.options, ...ran }, end, answer.refused);
      answer = await settler.add(end, job.laneNo);
    }
    if (answer !== "settled" || end.outcome !== "succeeded" || isVerbose)
      logEnd(log, { ...ran, end, isLost: answer === "lost" });
  }

  private async definitionOf(inFlight: JobInFlight): Promise<RunnableDefinition> {
    const definition = await this.definitions.of(this.options.db, inFlight.job);
    this.options.leases.limit(inFlight, overMs(inFlight.job, definition, this.options.tools.maxTimeoutSeconds));
    return definition;
  }

  /** Gives back a job whose begin the unavailable database could not record, instead of letting its lease expire. */
  private async giveBackAfter(inFlight: JobInFlight, error: unknown): Promise<void> {
    if (!isUnavailable(error)) throw error;
    this.options.log.warn({ err: error, job_id: inFlight.job.jobId }, "attempt could not begin, job given back");
    await this.giveBack(inFlight);
  }
}
