import { afterLoss } from "./ends";
import { LimitsModel } from "./limits";
import { afterParents, blockedByParents, lookAt, modelOutcome, render } from "./links";
import type { EndModel, JobModel, KeyModel, LeaseModel, LiveModel, NewJobModel } from "./shapes";

type ChangeAnswer = "state-conflict" | "invalid-value" | null;

export const LEASE_MS = 30_000;

/** What the queue should do, implemented independently and without a database. */
export class QueueModel {
  readonly limits = new LimitsModel();
  /** Jobs that ended in the current operation; their dependents are released at its end. */
  private over: string[] = [];
  readonly jobs = new Map<string, JobModel>();
  readonly keys = new Map<string, KeyModel>();
  /** Every lease ever granted, the latest last. */
  readonly leases: LeaseModel[] = [];

  constructor(public now: number) {}

  holderOf(key: string): string | null {
    const taken = this.keys.get(key);
    return taken && (taken.live || (taken.heldUntil !== null && taken.heldUntil > this.now)) ? taken.jobId : null;
  }

  add(
    job: NewJobModel,
    times: { readonly scheduledFor: number; readonly expiresAt: number | null; readonly heldUntil: number | null },
  ): void {
    const { scheduledFor, expiresAt, heldUntil } = times;
    const live = this.waiting({ scheduledFor, expiresAt, runNo: 1, leaseNo: 0 });
    this.jobs.set(job.id, { ...job, queuedAt: this.now, live, attempts: [], n: null });
    if (job.key !== null) this.keys.set(job.key, { jobId: job.id, live: true, heldUntil });
    this.block(job.id);
    this.releaseChildren();
  }

  /** Returns the maximum number of jobs that a claim may take. */
  capacity(): number {
    const running = this.living().filter(({ live }) => live.state === "running").length;
    return this.limits.capacity(running, this.now);
  }

  sortKey({ priority, live }: JobModel): number {
    return (live?.scheduledFor ?? 0) / 1000 / 600 + priority;
  }

  readyJobs(): JobModel[] {
    const claimable = ({ live }: JobModel) => live?.ready && (live.expiresAt ?? Number.POSITIVE_INFINITY) > this.now;
    return [...this.jobs.values()].filter(claimable).sort((a, b) => this.sortKey(a) - this.sortKey(b));
  }

  claim(id: string, worker: string): void {
    const live = this.liveOf(id);
    live.leaseNo += 1;
    Object.assign(live, { state: "running", ready: false, worker, claimedAt: this.now, startedAt: null });
    live.leaseEndsAt = this.now + LEASE_MS;
    this.leases.push({ jobId: id, leaseNo: live.leaseNo });
    this.limits.started(this.now);
  }

  /** Returns the live row if this lease is active. */
  leased({ jobId, leaseNo }: LeaseModel): LiveModel | null {
    const live = this.jobs.get(jobId)?.live;
    return live?.state === "running" && live.leaseNo === leaseNo ? live : null;
  }

  /** Returns the result of settling this lease. */
  settle(lease: LeaseModel, end: EndModel): "settled" | "canceled" | "lost" {
    const live = this.leased(lease);
    const job = this.jobs.get(lease.jobId);
    if (!live || !job) return "lost";
    const canceled = end.outcome === undefined && live.cancelAt !== null;
    const outcome = canceled ? "canceled" : end.outcome;
    if (outcome !== undefined) {
      this.end(job, { ...end, outcome });
      this.releaseChildren();
      return canceled ? "canceled" : "settled";
    }
    const retryInMs = end.retryInMs ?? 0;
    if (retryInMs > 0) live.scheduledFor = this.now + retryInMs;
    this.note(job, live, end);
    live.spent += end.spent ? 1 : 0;
    live.reclaims += end.reclaimed ? 1 : 0;
    Object.assign(live, { state: "queued", ready: retryInMs <= 0, worker: null, claimedAt: null, startedAt: null });
    live.leaseEndsAt = null;
    return "settled";
  }

  cancel(id: string): "canceled" | "running" | "conflict" {
    const job = this.jobs.get(id);
    if (!job?.live) return "conflict";
    if (job.live.state === "running") {
      job.live.cancelAt ??= this.now;
      return "running";
    }
    this.endWaiting(job, "canceled");
    this.releaseChildren();
    return "canceled";
  }

  retry(id: string): "retried" | "conflict" | "dedupe-taken" {
    const job = this.jobs.get(id);
    const outcome = modelOutcome(this.jobs, id);
    if (!job || outcome === null || outcome === "succeeded") return "conflict";
    if (blockedByParents(this.jobs, [job]).size > 0) return "conflict";
    if (!this.takeKeyAgain(job)) return "dedupe-taken";
    this.runAgain([job]);
    return "retried";
  }

  /**
   * Retries the dead letters among these jobs. Those blocked by a parent are tried once more at the end. @returns how
   * many it retried
   */
  redrive(ids: readonly string[]): number {
    const dead = ids.flatMap((id) => (modelOutcome(this.jobs, id) === "dead_letter" ? (this.jobs.get(id) ?? []) : []));
    const inOrder = dead.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const runs = dead.map(({ attempts }) => attempts.at(-1)?.runNo);
    this.retryTogether(this.retryTogether(inOrder));
    return dead.filter(({ live, attempts }, n) => live !== null || attempts.at(-1)?.runNo !== runs[n]).length;
  }

  /** @returns the jobs blocked by a parent */
  private retryTogether(jobs: readonly JobModel[]): JobModel[] {
    const blockedFirst = blockedByParents(this.jobs, jobs);
    const free = jobs.filter(({ id }) => !blockedFirst.has(id));
    const taken = new Set(free.filter((job) => !this.takeKeyAgain(job)).map(({ id }) => id));
    const blocked = blockedByParents(this.jobs, jobs, taken);
    for (const job of free) if (blocked.has(job.id)) this.freeKey(job);
    this.runAgain(free.filter(({ id }) => !taken.has(id) && !blocked.has(id)));
    return jobs.filter(({ id }) => blocked.has(id) && !taken.has(id));
  }

  private takeKeyAgain({ id, key }: JobModel): boolean {
    if (key === null) return true;
    const holder = this.holderOf(key);
    if (holder !== null && holder !== id) return false;
    // A window in progress keeps its end; a free key is taken for as long as the job is live.
    const heldUntil = holder === id ? (this.keys.get(key)?.heldUntil ?? null) : null;
    this.keys.set(key, { jobId: id, live: true, heldUntil });
    return true;
  }

  private runAgain(jobs: readonly JobModel[]): void {
    for (const job of jobs) {
      const last = job.attempts.find(({ outcome, superseded }) => outcome !== null && !superseded);
      if (!last) throw new Error("the model has no outcome of this job");
      last.superseded = true;
      job.n = null;
      const { runNo, attemptNo: leaseNo } = last;
      job.live = this.waiting({ scheduledFor: this.now, expiresAt: null, runNo: runNo + 1, leaseNo });
      for (const edge of job.edges) if (edge.state === "failed") edge.state = "pending";
    }
    for (const { id } of jobs) this.block(id);
    this.releaseChildren();
  }

  pause(id: string): boolean {
    return this.move(id, "queued", (live) => Object.assign(live, { state: "paused", ready: false }));
  }

  resume(id: string): boolean {
    return this.move(id, "paused", (live) =>
      Object.assign(live, { state: "queued", ready: live.scheduledFor <= this.now }),
    );
  }

  /** Changes the priority, the time, or both; null means unchanged. */
  change(id: string, { priority, at }: { readonly priority: number | null; readonly at: number | null }): ChangeAnswer {
    const job = this.jobs.get(id);
    if (job?.live?.state !== "queued" && job?.live?.state !== "paused") return "state-conflict";
    if (at !== null && job.live.expiresAt !== null && job.live.expiresAt <= at) return "invalid-value";
    job.priority = priority ?? job.priority;
    if (at !== null) job.live.scheduledFor = Math.max(at, job.queuedAt);
    job.live.ready = job.live.state === "queued" && job.live.scheduledFor <= this.now;
    return null;
  }

  private move(id: string, from: LiveModel["state"], act: (live: LiveModel) => void): boolean {
    const live = this.jobs.get(id)?.live;
    if (live?.state !== from) return false;
    act(live);
    return true;
  }

  promote(): number {
    const due = this.living().filter(
      ({ live }) => live.state === "queued" && !live.ready && live.scheduledFor <= this.now,
    );
    for (const { live } of due) live.ready = true;
    return due.length;
  }

  expire(): number {
    const due = this.living().filter(
      ({ live }) => live.state !== "running" && (live.expiresAt ?? Infinity) <= this.now,
    );
    for (const { job } of due) this.endWaiting(job, "expired");
    this.releaseChildren();
    return due.length;
  }

  rescue(): number {
    const over = this.living().filter(({ live }) => live.state === "running" && (live.leaseEndsAt ?? 0) < this.now);
    for (const { job, live } of over) this.settle({ jobId: job.id, leaseNo: live.leaseNo }, afterLoss(job, live));
    return over.length;
  }

  private end(job: JobModel, end: EndModel): void {
    if (!job.live) return;
    this.note(job, job.live, end);
    job.live = null;
    job.n = end.n ?? null;
    this.freeKey(job);
    this.over.push(job.id);
  }

  private endWaiting(job: JobModel, outcome: "canceled" | "expired" | "failed"): void {
    const live = job.live;
    if (!live) return;
    live.leaseNo += 1;
    this.end(job, { status: outcome, spent: false, outcome });
  }

  /** Blocks a job with pending edges. Edges to ended parents are resolved at once. */
  private block(id: string): void {
    const pending = this.jobs.get(id)?.edges.filter((edge) => edge.state === "pending") ?? [];
    if (pending.length === 0) return;
    Object.assign(this.liveOf(id), { state: "blocked", ready: false });
    this.over.push(
      ...pending.map((edge) => edge.parentId).filter((parent) => modelOutcome(this.jobs, parent) !== null),
    );
  }

  private releaseChildren(): void {
    for (let parent = this.over.shift(); parent !== undefined; parent = this.over.shift()) {
      for (const { job, live } of this.living()) {
        if (live.state !== "blocked" || !lookAt(this.jobs, job, parent)) continue;
        const next = afterParents(job);
        if (next === "free") this.release(job, live);
        else if (next !== "waits") this.endWaiting(job, next);
      }
    }
  }

  private release(job: JobModel, live: LiveModel): void {
    if (!render(this.jobs, job)) {
      this.endWaiting(job, "failed");
      return;
    }
    Object.assign(live, { state: "queued", ready: live.scheduledFor <= this.now });
    live.scheduledFor = Math.max(live.scheduledFor, this.now);
  }

  private freeKey({ id, key }: JobModel): void {
    const taken = key === null ? undefined : this.keys.get(key);
    if (key === null || taken?.jobId !== id) return;
    if (taken.heldUntil === null || taken.heldUntil <= this.now) this.keys.delete(key);
    else taken.live = false;
  }

  private note(job: JobModel, live: LiveModel, { status, outcome, spent }: EndModel): void {
    job.attempts.push({
      attemptNo: live.leaseNo,
      runNo: live.runNo,
      status,
      worker: live.worker,
      claimedAt: live.claimedAt,
      startedAt: live.startedAt,
      finishedAt: this.now,
      retryAt: outcome === undefined ? live.scheduledFor : null,
      outcome: outcome ?? null,
      attemptCount: outcome === undefined ? null : live.spent + (spent ? 1 : 0),
      superseded: false,
    });
  }

  private waiting(start: Pick<LiveModel, "scheduledFor" | "expiresAt" | "runNo" | "leaseNo">): LiveModel {
    const idle = { worker: null, claimedAt: null, startedAt: null, leaseEndsAt: null, cancelAt: null };
    return { ...start, ...idle, state: "queued", ready: start.scheduledFor <= this.now, spent: 0, reclaims: 0 };
  }

  private living(): { job: JobModel; live: LiveModel }[] {
    return [...this.jobs.values()].flatMap((job) => (job.live ? [{ job, live: job.live }] : []));
  }

  private liveOf(id: string): LiveModel {
    const live = this.jobs.get(id)?.live;
    if (!live) throw new Error("the model has no such live job");
    return live;
  }
}
