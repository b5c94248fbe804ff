import type { Transaction } from "@/lib/db";
import { dbRefusal } from "../db-refusals";
import { enqueueForTenantsSql } from "../schedules/fire-due-schedules.sql";
import { batchParameters } from "./batch-parameters";
import { eachOf } from "./insert-items";
import { forgetDefinitions, type NewJobItem } from "./new-job-item";

export interface TenantBatch {
  readonly tenantId: string;
  readonly items: readonly NewJobItem[];
}

export interface EnqueuedForTenant {
  readonly job_id: string;
  readonly deduplicated: boolean;
  readonly ready: boolean;
  readonly lane_no: number;
}

type GroupOfTenant = Omit<EnqueuedForTenant, "job_id"> & { batch: number; places: string; job_ids: string };

/**
 * True if the definition, queue, tenant or a parent changed between the read and the insert, so a retry with a fresh
 * read may succeed.
 */
export const wasChanged = (error: unknown): boolean => dbRefusal(error) !== null;

/**
 * Enqueues checked jobs of several tenants in one round trip, all or nothing. The transaction needs a role that sees
 * all of these tenants. Returns a row per item, in the order of the batches. The caller has to notify the workers.
 * @throws DatabaseError if the database refuses a job; see `wasChanged`
 */
export async function enqueueForTenants(
  tx: Transaction,
  batches: readonly TenantBatch[],
): Promise<EnqueuedForTenant[][]> {
  const answers: EnqueuedForTenant[][] = batches.map(() => []);
  if (batches.length === 0) return answers;
  const parameters = batches.map(({ items }) => batchParameters(items));
  try {
    const groups = await tx.run<GroupOfTenant>(enqueueForTenantsSql, [
      batches.map(({ tenantId }) => tenantId),
      parameters.map(([kinds]) => kinds),
      parameters.map(([, items]) => items),
      parameters.map(([, , parents]) => `{${parents.join(",")}}`),
    ]);
    for (const { batch, places, job_ids, ...common } of groups) {
      const answer = answers[batch - 1];
      if (!answer) continue;
      eachOf({ places, job_ids }, (index, job_id) => {
        answer[index] = { ...common, job_id };
      });
    }
    return answers;
  } catch (error) {
    if (wasChanged(error)) forgetDefinitions(tx);
    throw error;
  }
}
