import type { Database, TenantTransaction } from "@/lib/db";
import { auditJobsSql } from "../actions/change-jobs.sql";
import { QueueError } from "../errors";
import { inTenant } from "../read/get-job";
import type { Artifact, TenantScope } from "../types";
import { deleteArtifactSql } from "./artifacts.sql";

/**
 * Deletes a complete artifact in any state of its job and returns it. The bytes go back to the tenant's quota; the
 * job's audit records the actor and the artifact's name. A running attempt keeps an artifact of this name that it is
 * writing.
 * @throws QueueError not-found
 */
export function deleteArtifact(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobId, artifactId }: { readonly jobId: string; readonly artifactId: string },
): Promise<Artifact> {
  const { tenantId, actor } = scope;
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<Artifact>(deleteArtifactSql, [tenantId, jobId, artifactId]);
    if (!row) throw new QueueError("not-found", "Artifact not found.");
    const { kind, id, requestId = null } = actor;
    await tx.run(auditJobsSql, [tenantId, [jobId], kind, id, "delete_artifact", requestId, row.name, [null], [null]]);
    return row;
  });
}
