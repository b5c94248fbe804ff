import { afterAll, describe, expect, test, vi } from "vitest";
import { retryUndone } from "@/lib/db";
import {
  abortBulkAction,
  acceptBulkAction,
  cancelJob,
  enqueueJob,
  enqueueJobs,
  getBulkAction,
  getJob,
  listBulkResults,
  type NewJob,
  settleAttempts,
  type TenantScope,
  takeBulkAction,
  workOffChunk,
} from "@/lib/queue/testing";
import { mayStillAct } from "@/lib/tenancy/standing";
import { testDatabase } from "@/lib/testing/database";
import { dead } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { bulkFixture } from "./bulk-actions.fixture";

// These tests make thousands of jobs, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });
const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const { accounts, leader, member, many, turn, workOff, run, stateCounts } = await bulkFixture(database, make);

describe("a bulk action in progress", () => {
  test("a scheduler that lost its term does no chunk, and the next leader continues at the same position", async () => {
    const { scope } = await member();
    await many(scope, 1500);
    const { id } = await acceptBulkAction(make.web, scope, { action: "cancel", target: { filter: {} } });
    await turn();
    const stale = await takeBulkAction(make.scheduler, leader.term);
    leader.term += 1;
    const next = await takeBulkAction(make.scheduler, leader.term);
    if (!stale || !next) throw new Error("nothing was taken");
    await workOffChunk(make.web, stale, mayStillAct);
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({ status: "running", done: 1000 });
    await Promise.all([workOffChunk(make.web, next, mayStillAct), workOffChunk(make.web, stale, mayStillAct)]);
    await workOff();
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({ status: "done", done: 1500, skipped: 0 });
  });

  test("a chunk that fails is rolled back and done again", async () => {
    const { scope } = await member();
    await many(scope, 5);
    const { id } = await acceptBulkAction(make.web, scope, { action: "cancel", target: { filter: {} } });
    await database.query(`create function app.break_off() returns trigger language plpgsql as $$
      begin raise exception 'broken off'; end $$`);
    await database.query(
      "create trigger break_off before insert on app.bulk_action_chunks for each row execute function app.break_off()",
    );
    await expect(turn()).rejects.toThrow();
    expect(await stateCounts(scope)).toEqual([{ state: "queued", n: 5 }]);
    await database.query("drop trigger break_off on app.bulk_action_chunks");
    await workOff();
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({ status: "done", done: 5 });
  });

  test("an action whose turns keep failing is stopped and delays no other action", async () => {
    const { scope } = await member();
    await many(scope, 1);
    const request = { action: "cancel", target: { filter: {} } } as const;
    const { id } = await acceptBulkAction(make.web, scope, request);
    for (let failed = 0; failed < 20; failed += 1)
      expect((await takeBulkAction(make.scheduler, leader.term))?.id).toBe(id);
    expect(await takeBulkAction(make.scheduler, leader.term)).toBeNull();
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({
      status: "stopped",
      stop_reason: "failed-repeatedly",
    });
  });

  test("actions of different tenants take turns chunk by chunk", async () => {
    const [big, small] = [await member(), await member()];
    await many(big.scope, 2500);
    await many(small.scope, 1);
    const request = { action: "cancel", target: { filter: {} } } as const;
    const first = await acceptBulkAction(make.web, big.scope, request);
    const second = await acceptBulkAction(make.web, small.scope, request);
    const turns = [];
    for (let taken = await turn(); taken; taken = await turn()) turns.push(taken.id);
    expect(turns).toEqual([first.id, second.id, first.id, first.id]);
  });

  test("many actions of one tenant do not delay another tenant's", async () => {
    const [many10, one] = [await member(), await member()];
    const request = { action: "cancel", target: { filter: {} } } as const;
    const accept = async ({ scope }: typeof one) => (await acceptBulkAction(make.web, scope, request)).id;
    const [first, second, third] = [await accept(many10), await accept(many10), await accept(many10)];
    await turn();
    const late = await accept(one);
    const turns = [first];
    for (let taken = await turn(); taken; taken = await turn()) turns.push(taken.id);
    expect(turns).toEqual([first, late, second, third]);
  });

  test("a tenant has at most 20 open actions, also with concurrent requests", async () => {
    const { scope } = await member();
    const request = { action: "cancel", target: { filter: {} } } as const;
    // A busy machine may have no connection in time. Nothing was stored in that case.
    const tryOnce = () => acceptBulkAction(make.web, scope, request);
    const accept = () => retryUndone(8, tryOnce).catch((error: { code: string }) => error.code);
    const answers = await Promise.all(Array.from({ length: 24 }, accept));
    expect(answers.filter((answer) => answer === "too-many-actions")).toHaveLength(4);
    const { scope: other } = await member();
    expect(await acceptBulkAction(make.web, other, request)).toMatchObject({ status: "queued" });
    await turn();
    expect(await accept()).toMatchObject({ status: "queued" });
    await workOff();
  });

  test("a chunk scans 20,000 dead letters at most, and the next one continues below them", async () => {
    const { scope } = await member();
    const claimed = await make.runningJob(scope);
    await settleAttempts(make.worker, [dead(claimed, "wanted")]);
    await database.query(
      `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, outcome, error_type)
       select app.new_id(), 1, $1, 1, 'failed', 'w', now(), 'dead_letter', 'other' from generate_series(1, 20000)`,
      [scope.tenantId],
    );
    const target = { dead_letters: { error_type: "wanted" } };
    const { id } = await acceptBulkAction(make.web, scope, { action: "redrive", target });
    await turn();
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({ status: "running", done: 0 });
    await turn();
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({ status: "done", done: 1 });
  });

  test("abort ends it after the current chunk; finished chunks stay in effect", async () => {
    const { scope } = await member();
    await many(scope, 1500);
    const { id } = await acceptBulkAction(make.web, scope, { action: "cancel", target: { filter: {} } });
    await turn();
    expect((await abortBulkAction(make.web, scope, id)).abort_requested_at).toBeInstanceOf(Date);
    await workOff();
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({ status: "aborted", done: 1000 });
    expect(await stateCounts(scope)).toEqual([{ state: "queued", n: 500 }]);
    await expect(abortBulkAction(make.web, scope, id)).rejects.toMatchObject({ code: "action-over" });
  });

  test.each([
    ["the membership is gone", "delete from app.memberships where user_id = $1"],
    ["the role only reads", "update app.memberships set role = 'viewer' where user_id = $1"],
    ["the person is disabled", "update app.users set disabled_at = now() where id = $1"],
    [
      "the tenant is suspended",
      "update app.tenants set status = 'suspended' where id in (select tenant_id from app.memberships where user_id = $1)",
    ],
  ])("TENANT-01 it stops when its actor loses the right to it: %s", async (_why, revoke) => {
    const { scope, userId } = await member();
    await many(scope, 1500);
    const { id } = await acceptBulkAction(make.web, scope, { action: "cancel", target: { filter: {} } });
    await turn();
    await database.query(revoke, [userId]);
    await workOff();
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({
      status: "stopped",
      stop_reason: "rights-lost",
      done: 1000,
    });
  });

  test("TENANT-01 an API key's action stops when the key is revoked, and never exceeds the key's scopes", async () => {
    const { scope, userId } = await member();
    const person = { id: userId, email: "", password: "" };
    const [good, poor] = [
      await accounts.key(person, { tenantId: scope.tenantId, scopes: ["jobs:write"] }),
      await accounts.key(person, { tenantId: scope.tenantId, scopes: ["jobs:read"] }),
    ];
    const as = (id: string): TenantScope => ({ ...scope, actor: { kind: "api_key", id, userId } });
    const request = { action: "pause", target: { filter: {} } } as const;
    await many(scope, 1);
    expect(await run(as(poor.id), request)).toMatchObject({ status: "stopped", done: 0 });
    expect(await run(as(good.id), request)).toMatchObject({ status: "done", done: 1 });
    await database.query("update app.api_keys set revoked_at = now() where id = $1", [good.id]);
    expect(await run(as(good.id), { ...request, action: "resume" })).toMatchObject({ status: "stopped", done: 0 });
  });

  test("a super admin's action runs without a membership", async () => {
    const { scope } = await member();
    const { id } = await accounts.user({ superAdmin: true });
    await many(scope, 1);
    const as = { ...scope, actor: { kind: "user", id, userId: id } } as const;
    expect(await run(as, { action: "pause", target: { filter: {} } })).toMatchObject({ status: "done", done: 1 });
  });
});

describe("a retry of parents and children", () => {
  /** Makes a chain with more jobs between its links than a chunk has, cancels all links and returns their ids. */
  const chainOverChunks = async (scope: TenantScope, definitionKey: string) => {
    const ids: string[] = [];
    for (let link = 0; link < 3; link += 1) {
      const parent = ids.at(-1);
      const first = { definitionKey, ...(parent === undefined ? {} : { dependsOn: [{ jobId: parent }] }) };
      const between = Array.from({ length: link < 2 ? 1000 : 0 }, () => ({ definitionKey }));
      const [job] = await enqueueJobs(make.web, scope, [first, ...between]);
      ids.push(job?.jobId ?? "");
    }
    await run(scope, { action: "cancel", target: { filter: { definition_key: definitionKey } } });
    return ids;
  };

  test("retries all of them across chunk borders; a child whose parent stays ended is reported", async () => {
    const { scope } = await member();
    const { key: definitionKey } = await make.definition();
    const [outside = ""] = await many(scope, 1);
    const [orphan] = await enqueueJobs(make.web, scope, [{ definitionKey, dependsOn: [{ jobId: outside }] }]);
    await cancelJob(make.web, scope, outside);
    const chain = await chainOverChunks(scope, definitionKey);
    const action = await run(scope, { action: "retry", target: { filter: { definition_key: definitionKey } } });
    expect(action).toMatchObject({ status: "done", done: 2003, skipped: 0, failed: 1 });
    const statuses = await Promise.all(chain.map(async (id) => (await getJob(make.web, scope, id))?.status));
    expect(statuses).toEqual(["queued", "blocked", "blocked"]);
    const refused = await listBulkResults(make.web, scope, action.id, { limit: 10, codes: ["held-by-parent"] });
    expect(refused?.results.map(({ jobId }) => jobId)).toEqual([orphan?.jobId]);
    const all = await listBulkResults(make.web, scope, action.id, { limit: 3000 });
    expect(new Set(all?.results.map(({ jobId }) => jobId)).size).toBe(2004);
  });

  test("retries all of them, the oldest first, when later chunks are smaller than the one that deferred children", async () => {
    const { scope } = await member();
    const { key: definitionKey } = await make.definition();
    const links = Array.from({ length: 11 }, (_, n) => ({
      definitionKey,
      ref: `link-${n}`,
      dependsOn: n === 0 ? [] : [{ ref: `link-${n - 1}` }],
    }));
    const [first] = await enqueueJobs(make.web, scope, links);
    await cancelJob(make.web, scope, first?.jobId ?? "");
    const { id } = await acceptBulkAction(make.web, scope, {
      action: "retry",
      target: { filter: { definition_key: definitionKey } },
    });
    for (const limit of [10, 10, 3, 3, 3, 3]) {
      const taken = await takeBulkAction(make.scheduler, leader.term);
      if (taken) await workOffChunk(make.web, taken, mayStillAct, { limit });
    }
    expect(await getBulkAction(make.web, scope, id)).toMatchObject({ status: "done", done: 11, failed: 0 });
  });

  test("leaves a child alone when its parent in the same chunk gets no new run, and keeps its dedupe key free", async () => {
    const { scope } = await member();
    const { key: definitionKey } = await make.definition();
    const enqueue = async (job: Partial<NewJob>) =>
      (await enqueueJob(make.web, scope, { definitionKey, ...job })).jobId;
    const parent = await enqueue({ dedupeKey: "parent" });
    const child = await enqueue({ dedupeKey: "child", dependsOn: [{ jobId: parent }] });
    const grandchild = await enqueue({ dependsOn: [{ jobId: child }] });
    await cancelJob(make.web, scope, parent);
    await enqueue({ dedupeKey: "parent" });
    const action = await run(scope, { action: "retry", target: { job_ids: [grandchild, child, parent] } });
    expect(action).toMatchObject({ done: 0, failed: 3 });
    expect((await getJob(make.web, scope, grandchild))?.run_no).toBe(1);
    expect((await enqueueJob(make.web, scope, { definitionKey, dedupeKey: "child" })).deduplicated).toBe(false);
  });
});
