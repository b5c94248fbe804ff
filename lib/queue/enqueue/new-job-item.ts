import { type Runner, runInCommonLine } from "@/lib/db";
import type { Turns } from "@/lib/turns";
import type { PayloadValidator } from "../definitions/arg-schema.policy";
import { validatorOf } from "../definitions/payload-validators";
import { type DefinitionRow, findDefinition } from "../definitions/read-definitions";
import { LINK_FIELDS, type Linked, takesResults } from "../dependencies/link-jobs.policy";
import { QueueError } from "../errors";
import type { Actor, NewJob, TenantScope } from "../types";
import type { ITEM_FIELDS } from "./enqueue-jobs.sql";
import { checkJobPayload, checkNewJob } from "./new-job.policy";

interface KnownDefinition {
  readonly row: DefinitionRow;
  readonly validate: PayloadValidator;
}

/** A checked job with the field names of the database. */
export type NewJobItem = Readonly<Record<(typeof ITEM_FIELDS)[number], unknown>> & {
  readonly rank: Linked["rank"];
  readonly awaited: Linked["awaited"];
  readonly depends_on: Linked["edges"] | undefined;
  readonly dedupe_key: string | undefined;
  readonly dedupe_mode: string | undefined;
  readonly dedupe_window_seconds: number | undefined;
  readonly dedupe_on_conflict: string | undefined;
  readonly chain_depth: number | undefined;
  /** The actor that is recorded if this job changes the holder of its dedupe key. */
  readonly actor: Readonly<Record<string, unknown>> | undefined;
};

/**
 * Definitions by key, per pool. Never stale in effect: the database refuses a version that is not the current one, and
 * a payload is refused by the current version only.
 */
const cache = new WeakMap<Runner, Map<string, KnownDefinition | Promise<KnownDefinition>>>();

export interface RequestedJob {
  readonly job: NewJob;
  readonly link: Linked | undefined;
  /** JSON pointer of the job in the request. */
  readonly at: string;
}

/**
 * Checks a job against its definition and returns its item, without a promise if the definition is cached.
 * @throws QueueError as `enqueueJob` does
 */
export function toItem(db: Runner, scope: TenantScope, requested: RequestedJob): NewJobItem | Promise<NewJobItem> {
  const known = cache.get(db)?.get(requested.job.definitionKey);
  if (!known || known instanceof Promise)
    return checkedAgainst(db, requested).then((row) => itemOf(scope, requested, row));
  const refusal = refusalOf(known, requested);
  return refusal === undefined
    ? itemOf(scope, requested, known.row)
    : unlessChanged(db, requested, { known, refusal }).then((row) => itemOf(scope, requested, row));
}

/**
 * Returns the common item of jobs that differ only in payloads and links: the item of the first job, without a link.
 * Returns undefined unless all jobs are certainly valid; then each job has to be checked alone.
 */
export function itemOfAll(
  db: Runner,
  scope: TenantScope,
  { jobs, turns }: { readonly jobs: readonly NewJob[]; readonly turns?: Turns | undefined },
): NewJobItem | undefined | Promise<NewJobItem | undefined> {
  const [first] = jobs;
  const known = first && cache.get(db)?.get(first.definitionKey);
  if (!known || known instanceof Promise || !jobs.every((job) => isLike(job, first))) return undefined;
  const requested = { job: first, link: undefined, at: "" };
  if (!fits(known, requested)) return undefined;
  if (turns)
    return allSuit(known, jobs, turns).then((suited) => (suited ? itemOf(scope, requested, known.row) : undefined));
  return jobs.every((job) => suits(known, job)) ? itemOf(scope, requested, known.row) : undefined;
}

async function allSuit(known: KnownDefinition, jobs: readonly NewJob[], turns: Turns): Promise<boolean> {
  for (const job of jobs) {
    await turns.next();
    if (!suits(known, job)) return false;
  }
  return true;
}

/** Fields in which jobs may differ and still share an item. */
const OWN: ReadonlySet<string> = new Set(["payload", ...LINK_FIELDS] satisfies (keyof NewJob)[]);

/** True if two jobs share all other values; values that are not scalars must be identical. */
function isLike(job: NewJob, first: NewJob): boolean {
  if (job === first) return true;
  for (const field in job)
    if (job[field as keyof NewJob] !== first[field as keyof NewJob] && !OWN.has(field)) return false;
  for (const field in first) if (!(field in job) && !OWN.has(field)) return false;
  return true;
}

function itemOf(scope: TenantScope, { job, link }: RequestedJob, row: DefinitionRow): NewJobItem {
  refuseBarred(scope, row);
  const isKeyed = job.dedupeKey !== undefined;
  return {
    rank: link?.rank,
    awaited: link?.awaited,
    depends_on: link !== undefined && link.edges.length > 0 ? link.edges : undefined,
    definition_id: row.id,
    definition_version: row.version,
    queue: job.queue,
    source: job.source ?? "manual",
    source_ref: job.sourceRef,
    priority: job.priority,
    payload: job.payload === undefined ? {} : job.payload,
    tags: job.tags,
    metadata: job.metadata,
    correlation_id: job.correlationId,
    parent_job_id: job.parentJobId,
    retried_from_id: job.retriedFromId,
    dedupe_key: job.dedupeKey,
    dedupe_mode: isKeyed ? (job.dedupe?.mode ?? "live") : undefined,
    dedupe_window_seconds: job.dedupe?.windowSeconds,
    dedupe_on_conflict: job.dedupe?.onConflict,
    actor: isKeyed && job.dedupe?.onConflict ? auditActor(scope.actor) : undefined,
    scheduled_for: job.scheduledFor,
    expires_at: job.expiresAt,
    max_attempts: job.maxAttempts,
    timeout_seconds: job.timeoutSeconds,
    retry_delay_seconds: job.retryDelaySeconds,
    retry_multiplier: job.retryMultiplier,
    created_by: scope.actor.userId,
    chain_depth: job.chainDepth === 0 ? undefined : job.chainDepth,
  };
}

/** Refuses a job whose executor the actor may not use. @throws QueueError executor-barred */
export function refuseBarred({ barredExecutors }: TenantScope, { executor }: Pick<DefinitionRow, "executor">): void {
  if (barredExecutors?.includes(executor))
    throw new QueueError("executor-barred", `You may not start jobs of executor ${executor}.`);
}

const auditActor = ({ kind, id, requestId }: Actor) => ({ kind, id, request_id: requestId });

const fits = (known: KnownDefinition, requested: RequestedJob): boolean => refusalOf(known, requested) === undefined;

/** Returns the error that `check` throws; undefined if there is none. */
function refusalOf(known: KnownDefinition, requested: RequestedJob): unknown {
  try {
    check(known, requested);
    return undefined;
  } catch (refusal) {
    return refusal;
  }
}

function suits(known: KnownDefinition, job: NewJob): boolean {
  try {
    checkJobPayload(job, { at: "", validate: validatorFor(job, known) });
    return true;
  } catch {
    return false;
  }
}

const check = (known: KnownDefinition, { job, at }: Pick<RequestedJob, "job" | "at">): void =>
  checkNewJob(job, { at, validate: validatorFor(job, known) });

/** A payload that takes in results of other jobs is not validated here: the worker does so once the results exist. */
const validatorFor = (job: NewJob, { validate }: KnownDefinition): PayloadValidator =>
  takesResults(job) ? () => [] : validate;

async function checkedAgainst(db: Runner, requested: RequestedJob): Promise<DefinitionRow> {
  const known = await knownDefinition(db, requested.job.definitionKey, requested.at);
  const refusal = refusalOf(known, requested);
  return refusal === undefined ? known.row : unlessChanged(db, requested, { known, refusal });
}

/** Checks again if the definition has a newer version. @throws the refusal if the version is the same */
async function unlessChanged(
  db: Runner,
  requested: RequestedJob,
  { known, refusal }: { readonly known: KnownDefinition; readonly refusal: unknown },
): Promise<DefinitionRow> {
  const current = await readDefinition(db, requested.job.definitionKey);
  if (takesResults(requested.job) || current === null || current.version === known.row.version) throw refusal;
  forgetDefinitions(db);
  return checkedAgainst(db, requested);
}

/** Returns the definition that a job of this key was just checked against. */
export const currentDefinition = async (db: Runner, key: string): Promise<DefinitionRow> =>
  (await knownDefinition(db, key, "")).row;

/** Empties the cache, so that the next check reads definitions from the database. */
export function forgetDefinitions(db: Runner): void {
  cache.delete(db);
}

async function knownDefinition(db: Runner, key: string, at: string): Promise<KnownDefinition> {
  const known = cache.get(db) ?? new Map<string, KnownDefinition | Promise<KnownDefinition>>();
  cache.set(db, known);
  const hit = known.get(key);
  if (hit) return hit;
  // The promise is cached until it resolves, so that a bulk reads and compiles a definition once. A refusal is not
  // cached.
  const loading = runInCommonLine(() => loadDefinition(db, key, at));
  known.set(key, loading);
  loading.then(
    (definition) => known.set(key, definition),
    () => known.delete(key),
  );
  return loading;
}

const lastRead = new WeakMap<Runner, Promise<unknown>>();

/**
 * Reads in turn inside a transaction: a bulk checks its jobs concurrently, but a connection takes one statement at a
 * time.
 */
function readDefinition(db: Runner, key: string): Promise<DefinitionRow | null> {
  if (!("inTransaction" in db)) return findDefinition(db, key);
  const reading = (lastRead.get(db) ?? Promise.resolve()).then(() => findDefinition(db, key));
  lastRead.set(
    db,
    reading.catch(() => undefined),
  );
  return reading;
}

async function loadDefinition(db: Runner, key: string, at: string): Promise<KnownDefinition> {
  const row = await readDefinition(db, key);
  const problems = [
    { pointer: `${at}/definition_key`, code: "unknown", detail: "is not the key of an active definition" },
  ];
  if (!row) throw new QueueError("definition-unknown", "Definition not found.", { problems });
  if (!row.is_active) throw new QueueError("definition-inactive", "The definition is disabled.", { problems });
  return { row, validate: validatorOf(row) };
}
