import type { TenantTransaction } from "@/lib/db";
import { Turns } from "@/lib/turns";
import { type DbRefusal, dbRefusal } from "../db-refusals";
import { areLinked, planLinks } from "../dependencies/link-jobs";
import { QueueError } from "../errors";
import type { Enqueued, NewJob, TenantScope } from "../types";
import { refusalOf, toEnqueued } from "./enqueue-jobs";
import { type EnqueuedRow, insertItems } from "./insert-items";
import { forgetDefinitions, type NewJobItem, type RequestedJob, toItem } from "./new-job-item";
import { notifyOfEnqueued } from "./notify-enqueued";

/** Jobs per statement, and about how many characters of payloads, which are serialized without a pause. */
const CHUNK_JOBS = 1000;
const CHUNK_CHARACTERS = 1024 * 1024;
const TRIES = 3;

/** A job, or the error that refused it. */
export type EnqueuedOrRefused = Enqueued | QueueError;

/**
 * Accepts many jobs of one tenant independently: a refused job gets an error and does not affect the others. A job may
 * wait for jobs that exist. The answers are in the order of the jobs. Sends one statement per thousand jobs, and after
 * a refusal by the database one per definition and queue.
 * @throws QueueError tenant-suspended if no job can be accepted; invalid-value if a job to wait for does not exist
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
    // Only objects are measured: few other payloads are large, and measuring costs as much as sending.
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
  const sound = checked.flatMap((item, index): Sound[] => {
    const job = jobs[index];
    return item instanceof QueueError || !job ? [] : [{ index, job, item }];
  });
  const answers: (EnqueuedOrRefused | undefined)[] = checked.map((one) =>
    one instanceof QueueError ? one : undefined,
  );
  const refused = await insertInto(answers, tx, { scope, sound });
  if (refused) {
    forgetDefinitions(tx);
    if (refused.refusal === "definition-changed" && tries > 1) return enqueueChunk(tx, scope, jobs, tries - 1);
    await insertByKind(answers, tx, { scope, sound });
  }
  return answers.map((answer) => {
    if (!answer) throw new Error("a job was neither accepted nor refused");
    return answer;
  });
}

/** A job that passed its check, with its index in the chunk. */
interface Sound {
  readonly index: number;
  readonly job: NewJob;
  readonly item: NewJobItem;
}

interface Refused {
  readonly refusal: DbRefusal;
  readonly error: unknown;
}

interface Insertion {
  readonly scope: TenantScope;
  readonly sound: readonly Sound[];
}

/**
 * Inserts all of the jobs and writes their answers; or inserts none and returns why the database refused one of them.
 */
async function insertInto(
  answers: (EnqueuedOrRefused | undefined)[],
  tx: TenantTransaction,
  { scope, sound }: Insertion,
): Promise<Refused | null> {
  if (sound.length === 0) return null;
  try {
    const items = sound.map(({ item }) => item);
    const rows = notifyOfEnqueued(tx, await tx.savepoint(() => insertItems(tx, scope.tenantId, items)));
    sound.forEach(({ index, job }, position) => {
      answers[index] = toEnqueued(scope, job, rows[position] as EnqueuedRow);
    });
    return null;
  } catch (error) {
    const refusal = dbRefusal(error);
    if (refusal === "definition-changed" || refusal === "queue-unknown") return { refusal, error };
    throw await refusalOf(error, { db: tx, scope, batch: { jobs: sound.map(({ job }) => job), at: () => "" } });
  }
}

/**
 * Inserts the jobs by definition and queue. The database does not say which job it refused, but it refuses all jobs of
 * one definition and queue or none of them.
 */
async function insertByKind(
  answers: (EnqueuedOrRefused | undefined)[],
  tx: TenantTransaction,
  { scope, sound }: Insertion,
): Promise<void> {
  const kinds = new Map<string, Sound[]>();
  for (const one of sound) {
    const { definition_id, definition_version, queue } = one.item;
    const kind = JSON.stringify([definition_id, definition_version, queue ?? null]);
    const alike = kinds.get(kind);
    if (alike) alike.push(one);
    else kinds.set(kind, [one]);
  }
  for (const alike of kinds.values()) {
    const refused = await insertInto(answers, tx, { scope, sound: alike });
    if (!refused) continue;
    for (const { index, job } of alike) {
      const refusal = await refusalOf(refused.error, { db: tx, scope, batch: { jobs: [job], at: () => "" } });
      if (!(refusal instanceof QueueError)) throw refusal;
      answers[index] = refusal;
    }
  }
}

/** Checks the jobs one by one and yields the event loop between them, because one check may take as long as a turn. */
async function checkedInTurns(
  tx: TenantTransaction,
  scope: TenantScope,
  jobs: readonly NewJob[],
): Promise<(NewJobItem | QueueError)[]> {
  const turns = new Turns();
  const links = areLinked(jobs) ? await planLinks(tx, scope, { jobs, at: (index) => `/jobs/${index}` }) : [];
  const checked: (NewJobItem | QueueError)[] = [];
  for (const [index, job] of jobs.entries()) {
    await turns.next();
    checked.push(await itemOrRefusal(tx, scope, { job, link: links[index], at: "" }));
  }
  return checked;
}

async function itemOrRefusal(
  tx: TenantTransaction,
  scope: TenantScope,
  requested: RequestedJob,
): Promise<NewJobItem | QueueError> {
  try {
    return await toItem(tx, scope, requested);
  } catch (error) {
    if (error instanceof QueueError) return error;
    throw error;
  }
}
