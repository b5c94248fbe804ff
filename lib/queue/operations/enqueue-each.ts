import { DatabaseError, type TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import { QueueError } from "../errors";
import type { Enqueued, NewJob, TenantScope } from "../types";
import { enqueueJob, toEnqueued } from "./enqueue-jobs";
import { type EnqueuedRow, insertItems } from "./insert-items";
import { forgetDefinitions, type NewJobItem, toItem } from "./new-job-item";
import { tellEnqueued } from "./tell-enqueued";

/** Jobs, and about as many characters of their payloads, in one statement. */
const CHUNK_JOBS = 1000;
const CHUNK_CHARACTERS = 8 * 1024 * 1024;
const TRIES = 3;

/** A job, or why it was refused. */
export type EnqueuedOrRefused = Enqueued | QueueError;

/**
 * Accepts many jobs of one tenant, each for itself: a refused one is answered by its refusal and keeps no other out. For
 * jobs that wait for no others. The order of the answers is that of the jobs.
 * @throws QueueError tenant-suspended, where none can be accepted
 */
export async function enqueueEach(
  tx: TenantTransaction,
  scope: TenantScope,
  jobs: readonly NewJob[],
): Promise<EnqueuedOrRefused[]> {
  const answers: EnqueuedOrRefused[] = [];
  for (const chunk of chunksOf(jobs)) answers.push(...(await enqueueChunk(tx, scope, chunk)));
  return answers;
}

function* chunksOf(jobs: readonly NewJob[]): Generator<readonly NewJob[]> {
  let chunk: NewJob[] = [];
  let characters = 0;
  for (const job of jobs) {
    chunk.push(job);
    // Few are large; measuring costs as much as sending them.
    characters += typeof job.payload === "object" ? JSON.stringify(job.payload ?? null).length : 0;
    if (chunk.length < CHUNK_JOBS && characters < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = [];
    characters = 0;
  }
  if (chunk.length > 0) yield chunk;
}

async function enqueueChunk(
  tx: TenantTransaction,
  scope: TenantScope,
  jobs: readonly NewJob[],
  tries = TRIES,
): Promise<EnqueuedOrRefused[]> {
  const checked = await checkedInTurns(tx, scope, jobs);
  const items = checked.filter((one): one is NewJobItem => !(one instanceof QueueError));
  if (items.length === 0) return checked as QueueError[];
  try {
    const rows = await tx.savepoint(() => insertItems(tx, scope.tenantId, items));
    const accepted = tellEnqueued(tx, rows).values();
    return checked.map((one, index) =>
      one instanceof QueueError ? one : toEnqueued(scope, jobs[index] as NewJob, accepted.next().value as EnqueuedRow),
    );
  } catch (error) {
    const code = error instanceof DatabaseError ? error.code : undefined;
    if (code === "LH001") throw new QueueError("tenant-suspended", "This tenant is suspended.");
    if (code !== "LH002" && code !== "LH003") throw error;
    forgetDefinitions(tx);
    if (code === "LH002" && tries > 1) return enqueueChunk(tx, scope, jobs, tries - 1);
    return oneByOne(tx, scope, jobs);
  }
}

/** The database does not say which job it was that it could not take, so each is tried alone. */
async function oneByOne(
  tx: TenantTransaction,
  scope: TenantScope,
  jobs: readonly NewJob[],
): Promise<EnqueuedOrRefused[]> {
  const answers: EnqueuedOrRefused[] = [];
  for (const job of jobs) answers.push(await enqueueAlone(tx, scope, job));
  return answers;
}

/** One job that may wait for others; see `enqueueEach`. */
export async function enqueueAlone(tx: TenantTransaction, scope: TenantScope, job: NewJob): Promise<EnqueuedOrRefused> {
  try {
    return await tx.savepoint(() => enqueueJob(tx, scope, job));
  } catch (error) {
    if (error instanceof QueueError && error.code !== "tenant-suspended") return error;
    throw error;
  }
}

/** Checks the jobs one by one and yields the event loop between them, because one check may take as long as a turn. */
async function checkedInTurns(
  tx: TenantTransaction,
  scope: TenantScope,
  jobs: readonly NewJob[],
): Promise<(NewJobItem | QueueError)[]> {
  const turns = new Turns();
  const checked: (NewJobItem | QueueError)[] = [];
  for (const job of jobs) {
    await turns.next();
    checked.push(await itemOrRefusal(tx, scope, job));
  }
  return checked;
}

async function itemOrRefusal(tx: TenantTransaction, scope: TenantScope, job: NewJob): Promise<NewJobItem | QueueError> {
  try {
    return await toItem(tx, scope, { job, link: undefined, at: "" });
  } catch (error) {
    if (error instanceof QueueError) return error;
    throw error;
  }
}
