/*
 * What several routes of a resource share: checks, what a caller may see of a row, and requests whose shape differs from
 * the queue's. The queue returns rows as the API answers them, so most routes answer what they read.
 *
 * This file has the requests about jobs; `shown.ts` masks what jobs wrote.
 */

import type * as z from "zod";
import {
  type createJob,
  type createJobs,
  type JobListQuery,
  LIMITS,
  type LogQuery,
  type NewDependency,
  type TenantPermission,
} from "@/lib/contract";
import type { Dependency, JobFilter, LogStream, NewJob } from "@/lib/queue/types";

/** Converts the query of a job list to the queue's filter. */
export const jobFilter = ({ source, ...query }: Omit<JobListQuery, "limit" | "offset" | "cursor">): JobFilter =>
  defined({ ...query, source: source === undefined ? undefined : [source] });

/** Converts the body of an enqueue request, or an item of a bulk, to the queue's terms. */
export function newJob(body: z.output<typeof createJob> & { readonly ref?: string | undefined }): NewJob {
  return {
    definitionKey: body.definition_key,
    payload: body.payload,
    source: "manual",
    ...defined({
      queue: body.queue,
      priority: body.priority,
      scheduledFor: dueOf(body.scheduled_for),
      expiresAt: dateOf(body.expires_at),
      tags: body.tags,
      metadata: body.metadata,
      correlationId: body.correlation_id,
      parentJobId: body.parent_job_id,
      maxAttempts: body.max_attempts,
      timeoutSeconds: body.timeout_seconds,
      retryDelaySeconds: body.retry_delay_seconds,
      retryMultiplier: body.retry_multiplier,
      dedupeKey: body.dedupe_key,
      dedupe:
        body.dedupe &&
        defined({
          mode: body.dedupe.mode,
          windowSeconds: body.dedupe.window_seconds,
          onConflict: body.dedupe.on_conflict,
        }),
      ref: body.ref,
      dependsOn: body.depends_on?.map(newDependency),
      onParentFailure: body.on_parent_failure,
    }),
  };
}

/**
 * Returns the permissions that a new job needs besides `jobs:create`: `jobs:read` if it takes in or depends on the
 * result of a job that may exist already, `jobs:update` if it may change the job that holds its dedupe key.
 */
export const permissionsForNewJob = (job: z.output<typeof createJob>): TenantPermission[] =>
  permissionsForNewJobs([job]);

/** Like `permissionsForNewJob`. An item with a dedupe key may stand for an existing job, so its `ref` does too. */
export function permissionsForNewJobs(jobs: z.output<typeof createJobs>["jobs"]): TenantPermission[] {
  const keyed = new Set(jobs.flatMap(({ ref, dedupe_key }) => (dedupe_key === undefined ? [] : (ref ?? []))));
  const mayExist = ({ job_id, ref }: NewDependency) => job_id !== undefined || (ref !== undefined && keyed.has(ref));
  const reads = jobs.some(({ depends_on }) => depends_on?.some((edge) => mayExist(edge) && readsResult(edge)));
  const changes = jobs.some(({ dedupe }) => dedupe !== undefined && dedupe.on_conflict !== "return");
  return [...(reads ? (["jobs:read"] as const) : []), ...(changes ? (["jobs:update"] as const) : [])];
}

const readsResult = ({ type, condition, as }: NewDependency): boolean =>
  condition !== undefined || as !== undefined || type === "data" || type === "conditional";

/**
 * A time long past means the current time. Otherwise the job would be older than its request and come before everything
 * in its lane. The minute allows for clock differences.
 */
function dueOf(asked: string | undefined): Date | undefined {
  const due = dateOf(asked);
  return due && due.getTime() < Date.now() - 60_000 ? undefined : due;
}

function newDependency(edge: NewDependency): Dependency {
  return defined({
    ref: edge.ref,
    jobId: edge.job_id,
    type: edge.type,
    condition:
      edge.condition && defined({ path: edge.condition.path, op: edge.condition.op, value: edge.condition.value }),
    as: edge.as,
  });
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Drops undefined members, because the queue fills in defaults only for absent ones. */
export function defined<T extends object>(value: T): Partial<Defined<T>> & Pick<Defined<T>, RequiredKeys<T>> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<Defined<T>> &
    Pick<Defined<T>, RequiredKeys<T>>;
}
type RequiredKeys<T> = { [K in keyof T]: undefined extends T[K] ? never : K }[keyof T];

/** Parses an instant that the request's schema has validated. */
export function dateOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}

/** Returns where a reader of logs continues; `after` is `<attempt>:<seq>`. */
export function logPosition(query: LogQuery): LogPosition {
  const [attempt_no, seq] = (query.after ?? "").split(":").map(Number);
  const after = attempt_no !== undefined && seq !== undefined ? { attempt_no, seq } : undefined;
  return {
    limit: query.limit ?? LIMITS.logPageDefault,
    ...defined({ attempt: query.attempt, stream: query.stream, after }),
  };
}

interface LogPosition {
  readonly limit: number;
  readonly attempt?: number;
  readonly stream?: LogStream;
  readonly after?: { readonly attempt_no: number; readonly seq: number };
}

/** Parses a step position `<run>:<name>`; a name may have colons. */
export function stepPosition(after: string | undefined): { run_no: number; name: string } | undefined {
  if (after === undefined) return undefined;
  const colon = after.indexOf(":");
  return { run_no: Number(after.slice(0, colon)), name: after.slice(colon + 1) };
}
