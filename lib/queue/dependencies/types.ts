/** What jobs wait for. Client-safe: types only; reached through types.ts. */
import type { JobStatus } from "../states";

export type DependencyType = "completion" | "success" | "data" | "conditional";
export type ConditionOp = "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "exists";
export type OnParentFailure = "cancel" | "fail" | "run";

/** What must be true of a parent that is over: `path` is `status` or begins with `result`. */
export interface Condition {
  readonly path: string;
  readonly op: ConditionOp;
  readonly value?: unknown;
}

/** One job that a new job waits for: an item of the same bulk by its `ref`, or a job of the tenant by its id. */
export interface Dependency {
  readonly ref?: string;
  readonly jobId?: string;
  /** Default success. */
  readonly type?: DependencyType;
  /** For the type conditional, and only for it. */
  readonly condition?: Condition;
  /** The parent's name in placeholders; default its ref. */
  readonly as?: string;
}

/** One edge as a job sees it: id and status are those of the job at its other end. */
export interface DependencyView {
  readonly jobId: string;
  /** Its place among those of the child, from 1. */
  readonly edgeNo: number;
  readonly definitionKey: string;
  readonly status: JobStatus;
  readonly type: DependencyType;
  readonly condition: Condition | null;
  readonly as: string | null;
  readonly state: "pending" | "met" | "failed";
  readonly onParentFailure: OnParentFailure;
}

export interface DependenciesView {
  readonly parents: readonly DependencyView[];
  readonly children: readonly DependencyView[];
  readonly hasMoreChildren: boolean;
}
