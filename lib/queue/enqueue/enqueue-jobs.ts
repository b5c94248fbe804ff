/**
 * Enqueueing: checks new jobs and stores them. A job that was acknowledged is durable; a refused job leaves nothing
 * behind. Wake-ups go out after the commit, never inside the transaction.
 *
 * Start with `enqueueJobs`. new-job-item.ts checks jobs against their definitions, insert-items.ts selects the cheapest
 * SQL function that can take them, and enqueue-together.ts lets concurrent calls share a statement. The SQL functions
 * are in drizzle/functions/enqueue.sql and dedupe.sql.
 */
import type { Database, Runner, TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import { dbRefusal } from "../db-refusals";
import { TIMEOUT_SECONDS } from "../definitions/defaults.sql";
import { areLinked, linkKnown, planLinks } from "../dependencies/link-jobs";
import type { Linked } from "../dependencies/link-jobs.policy";
import { QueueError } from "../errors";
import { getJob } from "../read/get-job";
import type { Enqueued, Job, NewJob, TenantScope } from "../types";
import { type AcceptedJob, acceptedView } from "./accepted-job.policy";
import { enqueueTogether } from "./enqueue-together";
import { type EnqueuedRow, insertAlike, insertItems, insertLinked, isPlain } from "./insert-items";
import { currentDefinition, forgetDefinitions, itemOfAll, type NewJobItem, toItem } from "./new-job-item";
import { notifyOfEnqueued } from "./notify-enqueued";

/**
 * Accepts one job. When this resolves, the job is durable (in a transaction: durable with its COMMIT). Takes one round
 * trip once the definition is cached. If the dedupe key is taken, returns the job that holds it.
 * @throws QueueError definition-unknown, definition-inactive, queue-unknown, payload-invalid, payload-too-large,
 *   invalid-value, tenant-suspended: nothing is stored then
 */
export async function enqueueJob(db: Database | TenantTransaction, scope: TenantScope, job: NewJob): Promise<Enqueued> {
  return toEnqueued(scope, job, await enqueueOne(db, scope, job));
}

interface BatchOptions {
  /** Yields the event loop between the checks of jobs. The caller must not change the jobs until this resolves. */
  readonly inTurns?: boolean;
}

/**
 * Accepts many jobs of one tenant, all or nothing, in the order given; see `enqueueJob`. Jobs may wait for each other
 * by `ref`, and for jobs that exist. Such a job is blocked until its parents end, unless they have ended already.
 */
export async function enqueueJobs(
  db: Database | TenantTransaction,
  scope: TenantScope,
  jobs: readonly NewJob[],
  { inTurns = false }: BatchOptions = {},
): Promise<Enqueued[]> {
  const turns = inTurns ? new Turns() : undefined;
  const rows = await enqueue(db, scope, { jobs, at: (index) => `/jobs/${index}`, turns });
  return rows.map((row, index) => toEnqueued(scope, jobs[index] as NewJob, row));
}

/**
 * Accepts one job as `enqueueJob` does, and also returns the job as it was accepted. The view is made from what was
 * written, so a worker may have begun the job meanwhile. Only a duplicate, or a job with dependencies, is read again.
 */
export async function acceptJob(
  db: Database | TenantTransaction,
  scope: TenantScope,
  job: NewJob,
): Promise<{ readonly enqueued: Enqueued; readonly view: Job }> {
  const row = await enqueueOne(db, scope, job);
  const view =
    row.deduplicated || areLinked([job])
      ? await getJob(db, scope, row.job_id)
      : acceptedView(scope, job, { row, definition: await acceptedUnder(db, job.definitionKey) });
  if (!view) throw new Error("an accepted job has no record");
  return { enqueued: toEnqueued(scope, job, row), view };
}

async function acceptedUnder(db: Runner, key: string): Promise<AcceptedJob["definition"]> {
  const { id, version, queue, timeout_seconds } = await currentDefinition(db, key);
  return { id, version, queue, timeoutSeconds: timeout_seconds ?? TIMEOUT_SECONDS };
}

async function enqueueOne(db: Database | TenantTransaction, scope: TenantScope, job: NewJob): Promise<EnqueuedRow> {
  const [row] = await enqueue(db, scope, { jobs: [job], at: () => "" });
  if (!row) throw new Error("enqueue answered nothing");
  return row;
}

interface Batch {
  readonly jobs: readonly NewJob[];
  /** Returns the JSON pointer of a job in the request. */
  readonly at: (index: number) => string;
  /** Set if checking may yield the event loop, because the caller does not change the jobs meanwhile. */
  readonly turns?: Turns | undefined;
  readonly links?: readonly Linked[];
}

async function enqueue(db: Database | TenantTransaction, scope: TenantScope, batch: Batch): Promise<EnqueuedRow[]> {
  const { jobs } = batch;
  if (jobs.length === 0) return [];
  return insertJobs(db, scope, areLinked(jobs) ? { ...batch, links: await planLinks(db, scope, batch) } : batch);
}

export const toEnqueued = ({ tenantId }: TenantScope, { definitionKey }: NewJob, row: EnqueuedRow): Enqueued => ({
  jobId: row.job_id,
  tenantId,
  definitionKey,
  status: row.state,
  deduplicated: row.deduplicated,
  conflict: row.conflict,
  queuedAt: row.queued_at,
  scheduledFor: row.scheduled_for,
});

/** Inserts the jobs and notifies the workers. */
async function insertJobs(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobs, at, links, turns }: Batch,
): Promise<EnqueuedRow[]> {
  const insert = async () => {
    const found = jobs.length > 1 ? itemOfAll(db, scope, { jobs, turns }) : undefined;
    const item = found instanceof Promise ? await found : found;
    const payloads = item ? jobs.map(({ payload }) => (payload === undefined ? {} : payload)) : [];
    if (item && links) return notifyOfEnqueued(db, await insertLinked(db, scope.tenantId, { item, payloads, links }));
    if (item && isPlain(item))
      return notifyOfEnqueued(db, await insertAlike(db, scope.tenantId, { item, payloads: JSON.stringify(payloads) }));
    const toCheck = jobs.map((job, index) => ({ job, link: links?.[index], at: at(index) }));
    const checked = turns
      ? eachInTurn(toCheck, turns, (one) => toItem(db, scope, one))
      : allOf(toCheck.map((one) => toItem(db, scope, one)));
    // No await between the check and the insert, so the checked values are stored, whatever the caller does to the
    // object.
    const items = checked instanceof Promise ? await checked : checked;
    const [only] = items;
    if (only && items.length === 1 && isPlain(only) && !("inTransaction" in db))
      return [await enqueueTogether(db, scope.tenantId, only)];
    return notifyOfEnqueued(db, await insertItems(db, scope.tenantId, items));
  };
  const refuse = async (error: unknown): Promise<never> => {
    throw await refusalOf(error, { db, scope, batch: { jobs, at } });
  };
  return insert().catch((error: unknown) => {
    if (dbRefusal(error) !== "definition-changed") return refuse(error);
    forgetDefinitions(db);
    // The refusal has aborted a caller's transaction, so only a call outside a transaction can try again.
    return "inTransaction" in db ? refuse(error) : insert().catch(refuse);
  });
}

async function eachInTurn<One, Result>(
  all: readonly One[],
  turns: Turns,
  read: (one: One) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const one of all) {
    await turns.next();
    results.push(await read(one));
  }
  return results;
}

/** Returns the QueueError for a refusal by the database; returns any other error unchanged. */
export async function refusalOf(
  error: unknown,
  { db, scope, batch }: { db: Database | TenantTransaction; scope: TenantScope; batch: Pick<Batch, "jobs" | "at"> },
): Promise<unknown> {
  const refusal = dbRefusal(error);
  if (refusal === "tenant-suspended") return new QueueError("tenant-suspended", "This tenant is suspended.");
  if (refusal === "definition-changed") return definitionChanged();
  if (refusal === "queue-unknown") return queueUnknown(batch);
  if (refusal === "parent-missing") return parentMissing(db, scope, batch);
  return error;
}

const definitionChanged = () => new QueueError("definition-inactive", "The definition changed meanwhile. Try again.");

/**
 * The database does not say which parent is missing. Finding it takes a query, which an aborted transaction cannot run.
 */
async function parentMissing(
  db: Database | TenantTransaction,
  scope: TenantScope,
  batch: Pick<Batch, "jobs" | "at">,
): Promise<QueueError> {
  if (!("inTransaction" in db)) await linkKnown(db, scope, batch);
  return new QueueError("invalid-value", "A parent job no longer exists.");
}

/** The database does not say which queue is unknown. If several jobs name a queue, the error lists all of them. */
function queueUnknown({ jobs, at }: Pick<Batch, "jobs" | "at">): QueueError {
  const places = jobs.flatMap(({ queue }, index) => (queue === undefined ? [] : [`${at(index)}/queue`]));
  return new QueueError("queue-unknown", "No active queue has this name.", {
    problems: places.map((pointer) => ({
      pointer,
      code: "queue-unknown",
      detail: places.length === 1 ? "is not the name of an active queue" : "this or another queue is not active",
    })),
  });
}

/** Avoids one promise per job, because most definitions are cached. */
function allOf(items: readonly (NewJobItem | Promise<NewJobItem>)[]): readonly NewJobItem[] | Promise<NewJobItem[]> {
  return items.some((item) => item instanceof Promise) ? Promise.all(items) : (items as readonly NewJobItem[]);
}
