/*
 * Translates between the API and lib/queue: request bodies and queries to the queue's types, and the queue's views to
 * answers. A file named after a resource also has the checks that several of its routes share.
 *
 * This file translates requests about jobs; `serialize.ts` translates jobs to answers.
 */

import type * as z from "zod";
import {
  type ChangeJob,
  type createJob,
  type JobListQuery,
  LIMITS,
  type LogQuery,
  type NewDependency,
  type TenantPermission,
  type UpdateDefinition,
} from "@/lib/contract";
import type { JobChange } from "@/lib/queue";
import type { DefinitionPatch, Dependency, JobFilter, LogStream, NewJob } from "@/lib/queue/types";
import { retryClassesIn } from "./retry-classes";

/** Converts the query of a job list to the queue's terms. */
export function jobFilter(query: Omit<JobListQuery, "limit" | "offset" | "cursor">): JobFilter {
  return defined({
    status: query.status,
    source: query.source === undefined ? undefined : [query.source],
    queue: query.queue,
    definitionKey: query.definition_key,
    tag: query.tag,
    correlationId: query.correlation_id,
    parentJobId: query.parent_job_id,
    retriedFromId: query.retried_from_id,
    createdAfter: dateOf(query.created_after),
    createdBefore: dateOf(query.created_before),
    q: query.q,
  });
}

/** Converts the body of a change to the queue's terms. */
export function jobChangeOf(body: ChangeJob): JobChange {
  return defined({ priority: body.priority, scheduledFor: dateOf(body.scheduled_for) });
}

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
 * result of an existing job, `jobs:update` if it may change the job that holds its dedupe key.
 */
export function permissionsForNewJob({ depends_on = [], dedupe }: z.output<typeof createJob>): TenantPermission[] {
  const reads = depends_on.some((edge) => edge.job_id !== undefined && readsResult(edge));
  const changes = dedupe !== undefined && dedupe.on_conflict !== "return";
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

/** Converts the body of a definition request to the queue's terms. */
export function definitionInput(body: UpdateDefinition): DefinitionPatch {
  const { retry } = body;
  return defined({
    description: body.description,
    executor: body.executor,
    commandKey: body.command_key,
    queue: body.queue,
    argSchema: body.arg_schema,
    timeoutSeconds: body.timeout_seconds,
    maxAttempts: body.max_attempts,
    leaseSeconds: body.lease_seconds,
    killGraceSeconds: body.kill_grace_seconds,
    deadLetter: body.dead_letter,
    isActive: body.is_active,
    retry:
      retry &&
      defined({
        strategy: retry.strategy,
        delaySeconds: retry.delay_seconds,
        multiplier: retry.multiplier,
        maxDelaySeconds: retry.max_delay_seconds,
        jitter: retry.jitter,
      }),
    retryClasses: body.retry_classes && retryClassesIn(body.retry_classes),
  });
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
