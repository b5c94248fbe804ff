import { type Database, DatabaseError, type Runner, type TenantTransaction, withTenant } from "@/lib/db";
import { QueueError } from "../errors";
import { compileArgSchema, type PayloadValidator } from "../policy/arg-schema";
import { type Linked, takesResults } from "../policy/dependencies";
import { checkNewJob } from "../policy/new-job";
import { enqueueJobsSql } from "../sql/control-jobs";
import type { JobStatus } from "../states";
import type { Enqueued, NewJob, TenantScope } from "../types";
import { type DefinitionRow, findDefinition, queueIdOf } from "./definitions";
import { areLinked, planLinks, readLinkedStates } from "./link-jobs";
import { notifyChanges, notifyWork } from "./wake";

interface KnownDefinition {
  readonly row: DefinitionRow;
  readonly validate: PayloadValidator;
}

interface EnqueuedRow {
  job_id: string;
  deduplicated: boolean;
  state: JobStatus;
  ready: boolean;
  lane_no: number;
  queued_at: Date;
  scheduled_for: Date;
}

/** Definitions by key, per pool. Never stale in effect: the statement refuses a version that is not the current one. */
const cache = new WeakMap<Runner, Map<string, Promise<KnownDefinition>>>();

/**
 * Accepts one job. When this resolves the job is durable (or, on a transaction, durable with its COMMIT).
 * One round trip once the definition is known. A taken dedupe key answers with the job that holds it.
 * @throws QueueError definition-unknown, definition-inactive, queue-unknown, payload-invalid, payload-too-large,
 * invalid-value, tenant-suspended: nothing is stored then
 */
export async function enqueueJob(db: Database | TenantTransaction, scope: TenantScope, job: NewJob): Promise<Enqueued> {
  const [enqueued] = await enqueue(db, scope, { jobs: [job], at: () => "" });
  if (!enqueued) throw new Error("enqueue answered nothing");
  return enqueued;
}

/**
 * Accepts many jobs of one tenant, all or nothing, in the order given; see `enqueueJob`. They may wait for each other by
 * `ref` and for jobs that exist: such a job is blocked until then, unless what it waits for is over already.
 */
export function enqueueJobs(
  db: Database | TenantTransaction,
  scope: TenantScope,
  jobs: readonly NewJob[],
): Promise<Enqueued[]> {
  return enqueue(db, scope, { jobs, at: (index) => `/jobs/${index}` });
}

interface Batch {
  readonly jobs: readonly NewJob[];
  /** Where a job stands in the request, as a JSON pointer. */
  readonly at: (index: number) => string;
  readonly links?: readonly Linked[];
}

async function enqueue(db: Database | TenantTransaction, scope: TenantScope, batch: Batch): Promise<Enqueued[]> {
  const { jobs } = batch;
  if (jobs.length === 0) return [];
  if (!areLinked(jobs)) return told(db, scope, { jobs, rows: await insertJobs(db, scope, batch) });
  if (!("inTransaction" in db)) return withTenant(db, scope.tenantId, (tx) => enqueue(tx, scope, batch));
  const inserted = await insertJobs(db, scope, { ...batch, links: await planLinks(db, batch) });
  const states = await readLinkedStates(
    db,
    inserted.map((row) => row.job_id),
  );
  return told(db, scope, { jobs, rows: inserted.map((row) => ({ ...row, ...states.get(row.job_id) })) });
}

/** Wakes whom the new jobs concern, once they are there for others, and answers them. */
function told(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobs, rows }: { readonly jobs: readonly NewJob[]; readonly rows: readonly EnqueuedRow[] },
): Enqueued[] {
  const fresh = rows.filter((row) => !row.deduplicated);
  const wake = (pool: Runner) => {
    notifyWork(
      pool,
      fresh.filter((row) => row.ready).map((row) => row.lane_no),
    );
    notifyChanges(
      pool,
      fresh.map((row) => row.lane_no),
    );
  };
  if ("inTransaction" in db) db.afterCommit(wake);
  else wake(db);
  return rows.map((row, index) => ({
    jobId: row.job_id,
    tenantId: scope.tenantId,
    definitionKey: jobs[index]?.definitionKey ?? "",
    status: row.state,
    deduplicated: row.deduplicated,
    queuedAt: row.queued_at,
    scheduledFor: row.scheduled_for,
  }));
}

async function insertJobs(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobs, at, links = [] }: Batch,
): Promise<EnqueuedRow[]> {
  const insert = async () => {
    const items = jobs.map((job, index) => toItem(db, scope, { job, link: links[index], at: at(index) }));
    return db.run<EnqueuedRow>(enqueueJobsSql, [scope.tenantId, JSON.stringify(await Promise.all(items))]);
  };
  try {
    return await insert();
  } catch (error) {
    const code = error instanceof DatabaseError ? error.code : undefined;
    if (code === "LH001") throw new QueueError("tenant-suspended", "This tenant is suspended.");
    if (code !== "LH002") throw error;
    cache.delete(db);
    // Inside a transaction the refusal has already aborted it, so only a call of its own can try again.
    if ("inTransaction" in db) throw definitionChanged();
    return insert().catch((again: unknown) => {
      throw again instanceof DatabaseError && again.code === "LH002" ? definitionChanged() : again;
    });
  }
}

const definitionChanged = (): QueueError =>
  new QueueError("definition-inactive", "The definition was changed or switched off just now; try again.");

interface Placed {
  readonly job: NewJob;
  readonly link: Linked | undefined;
  /** Where the job stands in the request, as a JSON pointer. */
  readonly at: string;
}

async function toItem(db: Runner, scope: TenantScope, { job, link, at }: Placed): Promise<Record<string, unknown>> {
  const { row, validate } = await knownDefinition(db, job.definitionKey, at);
  // A payload that takes in results is compared with the schema when they are there, by the worker.
  checkNewJob(job, { at, validate: takesResults(job) ? () => [] : validate });
  const queueId = job.queue === undefined ? row.queue_id : await queueIdOf(db, job.queue);
  return withoutUndefined({
    id: link?.id,
    depends_on: link !== undefined && link.edges.length > 0 ? link.edges : undefined,
    definition_id: row.id,
    definition_version: row.version,
    queue_id: queueId,
    source: job.source ?? "manual",
    source_ref: job.sourceRef,
    priority: job.priority ?? 100,
    payload: job.payload === undefined ? {} : job.payload,
    tags: job.tags,
    metadata: job.metadata,
    correlation_id: job.correlationId,
    parent_job_id: job.parentJobId,
    retried_from_id: job.retriedFromId,
    dedupe_key: job.dedupeKey,
    dedupe_mode: job.dedupeKey === undefined ? undefined : (job.dedupe?.mode ?? "live"),
    dedupe_window_seconds: job.dedupe?.windowSeconds,
    scheduled_for: job.scheduledFor,
    expires_at: job.expiresAt,
    max_attempts: job.maxAttempts ?? row.max_attempts,
    timeout_seconds: job.timeoutSeconds,
    retry_delay_seconds: job.retryDelaySeconds,
    retry_multiplier: job.retryMultiplier,
    created_by: scope.actor.userId,
  });
}

const withoutUndefined = (item: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));

function knownDefinition(db: Runner, key: string, at: string): Promise<KnownDefinition> {
  const known = cache.get(db) ?? new Map<string, Promise<KnownDefinition>>();
  cache.set(db, known);
  const hit = known.get(key);
  if (hit) return hit;
  // The promise is kept, so that a bulk reads and compiles a definition once; a refusal is not.
  const loading = loadDefinition(db, key, at);
  known.set(key, loading);
  loading.catch(() => known.delete(key));
  return loading;
}

async function loadDefinition(db: Runner, key: string, at: string): Promise<KnownDefinition> {
  const row = await findDefinition(db, key);
  const problems = [
    { pointer: `${at}/definition_key`, code: "unknown", detail: "is not the key of an active definition" },
  ];
  if (!row) throw new QueueError("definition-unknown", "There is no such definition.", { problems });
  if (!row.is_active) throw new QueueError("definition-inactive", "This definition is switched off.", { problems });
  return { row, validate: compileArgSchema(row.arg_schema) };
}
