import type { JobStatus } from "@/lib/queue/states";
import type { Condition, DependencyType, OnParentFailure } from "@/lib/queue/testing";

/** What dependent jobs must do, without a database: the reference of a test. */
export interface ModelEdge {
  readonly parent: number;
  readonly type: DependencyType;
  readonly condition: (Condition & { readonly value: number }) | null;
  state: "pending" | "met" | "failed";
}

export interface ModelJob {
  readonly edges: ModelEdge[];
  readonly onParentFailure: OnParentFailure;
  /** A job that is not blocked is running, because the test claims every ready job. */
  status: JobStatus;
  n: number | null;
}

const isLive = (status: JobStatus) => status === "blocked" || status === "running";
const takesResults = (job: ModelJob) => job.edges.some(({ type }) => type === "data");

export class WorkflowModel {
  readonly jobs: ModelJob[] = [];

  /** Adds jobs that depend on each other and on earlier ones; they may end at once. */
  add(jobs: readonly ModelJob[]): void {
    this.jobs.push(...jobs);
    this.settle();
  }

  end(index: number, status: JobStatus, n: number | null = null): void {
    Object.assign(this.job(index), { status, n });
    this.settle();
  }

  /** Returns true if the retry is accepted. It is refused while an ended parent does not meet its edge. */
  retry(index: number): boolean {
    const job = this.job(index);
    const open = job.edges.filter(({ state }) => state !== "met");
    const held = open.some((edge) => this.isOver(edge) && !this.holds(edge));
    if (held && job.onParentFailure !== "run") return false;
    // A payload that could not be rendered is tried again.
    for (const edge of open) edge.state = "pending";
    job.status = open.length > 0 || this.unrendered.has(index) ? "blocked" : "running";
    job.n = null;
    this.settle();
    return true;
  }

  private readonly unrendered = new Set<number>();

  private job(index: number): ModelJob {
    const job = this.jobs[index];
    if (!job) throw new RangeError("no such job");
    return job;
  }

  private isOver = (edge: ModelEdge): boolean => !isLive(this.job(edge.parent).status);

  private holds({ parent, type, condition }: ModelEdge): boolean {
    const { status, n } = this.job(parent);
    if (type === "completion") return true;
    if (type !== "conditional" || condition === null) return status === "succeeded";
    return n !== null && (condition.op === "gt" ? n > condition.value : n === condition.value);
  }

  /** Applies the rules one by one until none changes anything. */
  private settle(): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const [index, job] of this.jobs.entries()) {
        if (job.status !== "blocked") continue;
        for (const edge of job.edges.filter((one) => one.state === "pending" && this.isOver(one))) {
          edge.state = this.holds(edge) ? "met" : "failed";
        }
        const next = this.next(index, job);
        changed ||= next !== job.status;
        job.status = next;
      }
    }
  }

  private next(index: number, job: ModelJob): JobStatus {
    const failed = job.edges.some(({ state }) => state === "failed");
    if (failed && job.onParentFailure !== "run") return job.onParentFailure === "fail" ? "failed" : "canceled";
    if (job.edges.some(({ state }) => state === "pending")) return "blocked";
    if (!takesResults(job)) return "running";
    const missing = job.edges.some(({ type, parent }) => type === "data" && this.job(parent).n === null);
    if (!missing) {
      this.unrendered.delete(index);
      return "running";
    }
    this.unrendered.add(index);
    for (const edge of job.edges) if (edge.type === "data") edge.state = "failed";
    return "failed";
  }
}
