import type { TenantTransaction } from "@/lib/db";
import { isLinked, type Linked, linkJobs, outerParents } from "../policy/dependencies";
import { planLinksSql } from "../sql/dependencies";
import type { NewJob } from "../types";

/**
 * Gives ids to jobs of which some wait for others, and works out their edges. An id of another tenant's job is answered
 * like one that no job has.
 * @throws QueueError invalid-value with pointers
 */
export async function planLinks(
  tx: TenantTransaction,
  { jobs, at }: { readonly jobs: readonly NewJob[]; readonly at: (index: number) => string },
): Promise<Linked[]> {
  const [plan] = await tx.run<{ ids: string; known: string[] }>(planLinksSql, [
    tx.tenantId,
    jobs.length,
    outerParents(jobs),
  ]);
  return linkJobs(jobs, { at, ids: plan?.ids.slice(1, -1).split(",") ?? [], known: plan?.known ?? [] });
}

export const areLinked = (jobs: readonly NewJob[]): boolean => jobs.some(isLinked);
