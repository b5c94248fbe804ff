import type { Runner } from "@/lib/db";
import type { JobStatus } from "../states";
import type { DedupeConflict } from "../types";
import { type BatchParameters, batchParameters, linkedParameters } from "./batch-parameters";
import { enqueueAlikeSql, enqueueJobSql, enqueueJobsSql, ITEM_FIELDS } from "./enqueue-jobs.sql";
import type { NewJobItem } from "./new-job-item";

export interface EnqueuedRow {
  job_id: string;
  deduplicated: boolean;
  conflict: DedupeConflict | null;
  state: JobStatus;
  ready: boolean;
  lane_no: number;
  queued_at: Date;
  scheduled_for: Date;
  priority: number;
  max_attempts: number;
  timeout_seconds: number | null;
}

/** The common columns of jobs that differ only in their payloads, and their ids as the text of a uuid[]. */
type AlikeRow = Omit<EnqueuedRow, "job_id" | "deduplicated" | "conflict" | "state"> & { new_ids: string };

/** The common columns of several jobs, with the texts of an integer[] and of a uuid[]. */
type GroupRow = Omit<EnqueuedRow, "job_id"> & IdsOfGroup;

interface IdsOfGroup {
  /** Positions in the batch, from 1. */
  readonly places: string;
  readonly job_ids: string;
}

type ItemField = (typeof ITEM_FIELDS)[number];
const COMMON_FIELDS = ITEM_FIELDS.filter((field) => field !== "payload");

/**
 * Inserts checked jobs of one tenant in one round trip, all or nothing, with the cheapest SQL function that can take
 * them. Returns a row per job, in their order.
 */
export async function insertItems(db: Runner, tenantId: string, items: readonly NewJobItem[]): Promise<EnqueuedRow[]> {
  const [first] = items;
  if (!first || !items.every(isPlain)) return insertAny(db, tenantId, items);
  if (items.length === 1) return insertPlain(db, tenantId, { item: first, payload: JSON.stringify(first.payload) });
  if (!items.every((item) => isLike(item, first))) return insertAny(db, tenantId, items);
  return insertAlike(db, tenantId, {
    item: first,
    payloads: JSON.stringify(items.map(({ payload }) => payload)),
  });
}

/** Inserts one job with a payload as JSON; see `insertItems`. */
export const insertPlain = (
  db: Runner,
  tenantId: string,
  {
    item,
    payload,
  }: { /** A plain item; its own payload is ignored. */ readonly item: NewJobItem; readonly payload: string },
): Promise<EnqueuedRow[]> => db.run<EnqueuedRow>(enqueueJobSql, [tenantId, ...parameters(item, payload)]);

interface Alike {
  /** A plain item; its own payload is ignored. */
  readonly item: NewJobItem;
  /** A JSON array. */
  readonly payloads: string;
}

/** Inserts a job for each payload; see `insertItems`. */
export async function insertAlike(db: Runner, tenantId: string, { item, payloads }: Alike): Promise<EnqueuedRow[]> {
  const [common] = await db.run<AlikeRow>(enqueueAlikeSql, [tenantId, ...parameters(item, payloads)]);
  return common ? rowsOf(common) : [];
}

/** Inserts jobs that share an item, with a payload and a link for each; see `insertItems`. */
export const insertLinked = (
  db: Runner,
  tenantId: string,
  { item, ...own }: { readonly item: NewJobItem } & Parameters<typeof linkedParameters>[1],
): Promise<EnqueuedRow[]> => insertBatch(db, tenantId, linkedParameters(item, own));

const insertAny = (db: Runner, tenantId: string, items: readonly NewJobItem[]): Promise<EnqueuedRow[]> =>
  insertBatch(db, tenantId, batchParameters(items));

async function insertBatch(db: Runner, tenantId: string, parameters: BatchParameters): Promise<EnqueuedRow[]> {
  const groups = await db.run<GroupRow>(enqueueJobsSql, [tenantId, ...parameters]);
  const rows: EnqueuedRow[] = [];
  for (const { places, job_ids, ...common } of groups)
    eachOf({ places, job_ids }, (index, id) => {
      rows[index] = rowOf(common, id);
    });
  return rows;
}

/** Calls `take` with the index (from 0) and the id of each job of a group. */
export function eachOf({ places, job_ids }: IdsOfGroup, take: (index: number, id: string) => void): void {
  const ids = listOf(job_ids);
  listOf(places).forEach((position, n) => {
    take(Number(position) - 1, ids[n] ?? "");
  });
}

/** True for a plain job: no dedupe key, no parents, no dependents, no chain depth. */
export const isPlain = ({ rank, awaited, depends_on, dedupe_key, chain_depth }: NewJobItem): boolean =>
  rank === undefined &&
  awaited === undefined &&
  depends_on === undefined &&
  dedupe_key === undefined &&
  chain_depth === undefined;

/** Returns a text that is equal for plain items that differ only in their payloads, and for no others. */
export function likenessOf(item: NewJobItem): string {
  let text = "";
  for (const field of COMMON_FIELDS) {
    const value = item[field];
    if (value !== undefined && value !== null) text += `${field}${JSON.stringify(value)}`;
  }
  return text;
}

const isLike = (item: NewJobItem, first: NewJobItem): boolean =>
  COMMON_FIELDS.every((field) => item[field] === first[field] || isEqual(item[field] ?? null, first[field] ?? null));

const isEqual = (one: unknown, other: unknown): boolean =>
  typeof one === "object" && typeof other === "object" ? JSON.stringify(one) === JSON.stringify(other) : one === other;

const parameters = (item: NewJobItem, payload: string): unknown[] =>
  ITEM_FIELDS.map((field) => (field === "payload" ? payload : parameter(field, item)));

function parameter(field: ItemField, item: NewJobItem): unknown {
  const value = item[field] ?? null;
  return field === "metadata" && value !== null ? JSON.stringify(value) : value;
}

function rowsOf({ new_ids, ...alike }: AlikeRow): EnqueuedRow[] {
  const common = { ...NEW, ...alike };
  return listOf(new_ids).map((id) => rowOf(common, id));
}

const NEW = { deduplicated: false, conflict: null, state: "queued" } as const;

const listOf = (text: string): string[] => text.slice(1, -1).split(",");

/** Each row gets Dates of its own, because the caller may change a Date. */
const rowOf = (common: Omit<EnqueuedRow, "job_id">, jobId: string): EnqueuedRow => ({
  job_id: jobId,
  deduplicated: common.deduplicated,
  conflict: common.conflict,
  state: common.state,
  ready: common.ready,
  lane_no: common.lane_no,
  queued_at: new Date(common.queued_at),
  scheduled_for: new Date(common.scheduled_for),
  priority: common.priority,
  max_attempts: common.max_attempts,
  timeout_seconds: common.timeout_seconds,
});
