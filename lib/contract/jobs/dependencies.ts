import * as z from "zod";
import { DEPENDENCY_STATES, DEPENDENCY_TYPES } from "@/lib/queue/states";
import type { DependencyEdge, JobDependencies } from "@/lib/queue/types";
import { id, jobStatus, json } from "../common";

export type { DependencyEdge, JobDependencies } from "@/lib/queue/types";

/** The name of a job inside one bulk, and of a parent in placeholders. */
export const jobRef = z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, "must have 1 to 100 of A-Z a-z 0-9 _ -");

const dependencyType = z.enum(DEPENDENCY_TYPES);
export const onParentFailure = z.enum(["cancel", "fail", "run"]);

const condition = z.strictObject({
  path: z.string().min(1).max(500),
  op: z.enum(["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists"]),
  value: json.optional(),
});

/** One parent of a new job: `job_id`, or `ref` of a job in the same bulk. */
export const dependency = z.strictObject({
  ref: jobRef.optional(),
  job_id: id.optional(),
  type: dependencyType.optional(),
  condition: condition.optional(),
  as: jobRef.optional(),
});
export type NewDependency = z.infer<typeof dependency>;

/** One edge as seen by a job: `job_id` and `status` are those of the job at the other end. */
export const dependencyEdge = z.object({
  job_id: id,
  /** Position in the child's depends_on, from 1. */
  edge_no: z.int(),
  definition_key: z.string(),
  status: jobStatus,
  type: dependencyType,
  condition: condition.nullable(),
  as: z.string().nullable(),
  state: z.enum(DEPENDENCY_STATES),
  on_parent_failure: onParentFailure,
}) satisfies z.ZodType<DependencyEdge>;

/** The parents and children of a job, including past ones. */
export const dependenciesAnswer = z.object({
  parents: z.array(dependencyEdge),
  children: z.array(dependencyEdge),
  /** True if there are more children than listed. */
  has_more_children: z.boolean(),
}) satisfies z.ZodType<JobDependencies>;
