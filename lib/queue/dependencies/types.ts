/** Types of dependencies. Client-safe: types only; imported through types.ts. */
import type { DependencyType, JobStatus } from "../states";

export type { DependencyType } from "../states";

export type ConditionOp = "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "exists";
export type OnParentFailure = "cancel" | "fail" | "run";

/** What must be true of a parent that has ended. `path` is `status` or begins with `result`. */
export interface Condition {
  readonly path: string;
  readonly op: ConditionOp;
  readonly value?: unknown;
}

/** A job that a new job waits for: an item of the same bulk by its `ref`, or a job of the tenant by its id. */
export interface Dependency {
  readonly ref?: string;
  readonly jobId?: string;
  /** Default success. */
  readonly type?: DependencyType;
  /** Required for the type conditional, not allowed for others. */
  readonly condition?: Condition;
  /** The parent's name in placeholders; default its ref. */
  readonly as?: string;
}

/** An edge as one of its jobs sees it: id and status are those of the job at the other end. */
export interface DependencyEdge {
  readonly job_id: string;
  /** The edge's position among those of the child, from 1. */
  readonly edge_no: number;
  readonly definition_key: string;
  readonly status: JobStatus;
  readonly type: DependencyType;
  readonly condition: Condition | null;
  readonly as: string | null;
  readonly state: "pending" | "met" | "failed";
  readonly on_parent_failure: OnParentFailure;
}

export interface JobDependencies {
  readonly parents: readonly DependencyEdge[];
  readonly children: readonly DependencyEdge[];
  readonly has_more_children: boolean;
}
