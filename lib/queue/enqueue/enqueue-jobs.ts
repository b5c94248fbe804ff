import type { Database, Runner, TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import { dbRefusal } from "../db-refusals";
import { TIMEOUT_SECONDS } from "../definitions/defaults.sql";
import { areLinked, linkKnown, planLinks } from "../dependencies/link-jobs";
import type { Linked } from "../dependencies/link-jobs.policy";
import { QueueError } from "../errors";
import { getJob } from "../read/get-job";
import type { Enqueued, JobView, NewJob, TenantScope } from "../types";
import { type AcceptedJob, acceptedView } from "./accepted-job.policy";
import { enqueueTogether } from "./enqueue-together";
import { type EnqueuedRow, insertAlike, insertItems, insertLinked, isPlain } from "./insert-items";
import { currentDefinition, forgetDefinitions, itemOfAll, type NewJobItem, toItem } from "./new-job-item";
import { notifyOfEnqueued } from "./notify-enqueued";

/**
 * Accepts one job. When this resolves the job is durable (or, on a transaction, durable with its COMMIT).
 * One round trip once the definition is known. A taken dedupe key answers with the job that holds it.
 * @throws QueueError definition-unknown, definition-inactive, queue-unknown, payload-invalid, payload-too-large,
 * invalid-value, tenant-suspended: nothing is stored then
 */
export async function enqueueJob(db: Database | TenantTransaction, scope: TenantScope, job: NewJob): Promise<Enqueued> {
  return toEnqueued(scope, job, await enqueueOne(db, scope, job));
}

interface BatchOptions {
  /** Yields the event loop between jobs while they are checked. The caller must not change them until this resolves. */
  readonly inTurns?: boolean;
}

/**
 * Accepts many jobs of one tenant, all or nothing, in the order given; see `enqueueJob`. They may wait for each other by
 * `ref` and for jobs that exist: such a job is blocked until then, unless what it waits for is over already.
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
 * As `enqueueJob`, and answers the job as it was accepted, from what was written and not by reading it again; a worker
 * may have begun it by now. Only a job that was there before, or that waits for others, is read.
 */
export async function acceptJob(
  db: Database | TenantTransaction,
  scope: TenantScope,
  job: NewJob,
): Promise<{ readonly enqueued: Enqueued; readonly view: JobView }> {
  const row = await enqueueOne(db, scope, job);
  const view =
    row.deduplicated || areLinked([job])
      ? await getJob(db, scope, row.job_id)
      : acceptedView(scope, job, { row, definition: await acceptedUnder(db, job.definitionKey) });
  if (!view) throw new Error("an accepted job has no record");
  return { enqueued: toEnqueued(scope, job, row), view };
}

async function acceptedUnder(db: Runner, key: string): Promise<AcceptedJob["definition"]> {
  const { id, version, queue, own_timeout_seconds } = await currentDefinition(db, key);
  return { id, version, queue, timeoutSeconds: own_timeout_seconds ?? TIMEOUT_SECONDS };
}

async function enqueueOne(db: Database | TenantTransaction, scope: TenantScope, job: NewJob): Promise<EnqueuedRow> {
  const [row] = await enqueue(db, scope, { jobs: [job], at: () => "" });
  if (!row) throw new Error("enqueue answered nothing");
  return row;
}

interface Batch {
  readonly jobs: readonly NewJob[];
  /** Where a job stands in the request, as a JSON pointer. */
  readonly at: (index: number) => string;
  /** Set if checking the jobs may pause, because the caller does not change them meanwhile. */
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

/** Also sends wake-ups for the jobs. */
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
    // Without a break, so that what was checked is what is stored, whatever the caller does with the object.
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
    // Inside a transaction the refusal has already aborted it, so only a call of its own can try again.
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

/** The QueueError for a refusal by the database; any other error unchanged. */
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

const definitionChanged = () =>
  new QueueError("definition-inactive", "The definition was changed or switched off just now; try again.");

/** The database does not say which parent it was. A transaction, which its refusal has aborted, cannot be asked. */
async function parentMissing(
  db: Database | TenantTransaction,
  scope: TenantScope,
  batch: Pick<Batch, "jobs" | "at">,
): Promise<QueueError> {
  if (!("inTransaction" in db)) await linkKnown(db, scope, batch);
  return new QueueError("invalid-value", "A job to wait for no longer exists.");
}

/** The database does not say which queue it was; where several are named, each place is told. */
function queueUnknown({ jobs, at }: Pick<Batch, "jobs" | "at">): QueueError {
  const places = jobs.flatMap(({ queue }, index) => (queue === undefined ? [] : [`${at(index)}/queue`]));
  return new QueueError("queue-unknown", "There is no active queue with this name.", {
    problems: places.map((pointer) => ({
      pointer,
      code: "queue-unknown",
      detail: places.length === 1 ? "is not the name of an active queue" : "this or another is not an active queue",
    })),
  });
}

/** A promise for each of many costs more than what most of them are asked for, which is known. */
function allOf(items: readonly (NewJobItem | Promise<NewJobItem>)[]): readonly NewJobItem[] | Promise<NewJobItem[]> {
  return items.some((item) => item instanceof Promise) ? Promise.all(items) : (items as readonly NewJobItem[]);
}
