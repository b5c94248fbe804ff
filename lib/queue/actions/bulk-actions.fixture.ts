import {
  acceptBulkAction,
  type BulkRequest,
  enqueueJobs,
  getBulkAction,
  type TenantScope,
  takeBulkAction,
  workOffChunk,
} from "@/lib/queue/testing";
import { mayStillAct } from "@/lib/tenancy/standing";
import type { TestDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import type { Factory } from "@/lib/testing/rows/factories";

/** Shared by tests of bulk actions: members who act, many jobs, and single turns of the leader. */
export async function bulkFixture(database: TestDatabase, make: Factory) {
  const accounts = accountsIn(database);
  const definitionKey = (await make.definition()).key;
  const leader = { term: 1 };

  /** Makes a tenant with a member who acts. */
  const member = async (): Promise<{ scope: TenantScope; userId: string }> => {
    const { tenantId } = await make.tenant();
    const { id } = await accounts.user({ roles: { [tenantId]: "member" } });
    return { scope: { tenantId, actor: { kind: "user", id, userId: id, requestId: "req-1" } }, userId: id };
  };
  const many = async (scope: TenantScope, count: number, tag = "x") => {
    const jobs = Array.from({ length: count }, () => ({ definitionKey, tags: [tag] }));
    return (await enqueueJobs(make.web, scope, jobs)).map((job) => job.jobId);
  };
  const turn = async () => {
    const taken = await takeBulkAction(make.scheduler, leader.term);
    if (taken) await workOffChunk(make.web, taken, mayStillAct);
    return taken;
  };
  const workOff = async () => {
    while (await turn());
  };
  const run = async (scope: TenantScope, request: BulkRequest) => {
    const accepted = await acceptBulkAction(make.web, scope, request);
    await workOff();
    const action = await getBulkAction(make.web, scope, accepted.id);
    if (!action) throw new Error("the action is gone");
    return action;
  };
  const stateCounts = (scope: TenantScope) =>
    database.query<{ state: string; n: number }>(
      "select state, count(*)::int as n from app.live_jobs where tenant_id = $1 group by 1 order by 1",
      [scope.tenantId],
    );
  return { accounts, leader, member, many, turn, workOff, run, stateCounts };
}
