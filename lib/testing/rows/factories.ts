/*
 * Rows for tests: tenants, definitions, jobs, claims, schedules and listeners. Jobs are made and claimed through the
 * queue. Tenants, accounts and listeners are written directly.
 *
 * Start with `makeFactory` below, then `accounts.ts` (users and keys), `attempt-ends.ts` (how a claimed job ends) and
 * `schedules.ts`.
 */

import { randomUUID } from "node:crypto";
import { type Database, openDatabase } from "@/lib/db";
import {
  type ClaimedJob,
  claimJobs,
  createDefinition,
  type Definition,
  type DefinitionInput,
  enqueueJob,
  getJob,
  type Job,
  type NewJob,
  pollWork,
  SYSTEM,
  startAttempts,
  type TenantScope,
} from "@/lib/queue/testing";
import type { TestDatabase } from "../database";

/**
 * Creates tenants, definitions and jobs for tests, only through the product's own operations, so no impossible row can
 * exist.
 */
export interface Factory {
  readonly web: Database;
  readonly worker: Database;
  readonly scheduler: Database;
  readonly platform: Database;
  tenant(slug?: string): Promise<TenantScope>;
  definition(input?: Partial<DefinitionInput>): Promise<Definition>;
  job(scope: TenantScope, job?: Partial<NewJob>): Promise<Job>;
  /** Claims up to `limit` ready jobs of any lane, as a worker of this name. */
  claim(workerId: string, limit?: number): Promise<ClaimedJob[]>;
  /** Returns a job that a worker has claimed and begun. */
  runningJob(scope: TenantScope, job?: Partial<NewJob>): Promise<ClaimedJob>;
  close(): Promise<void>;
}

/** Opens the pools of all roles on a test database. */
export function makeFactory(database: TestDatabase): Factory {
  const open = (role: "web" | "worker" | "scheduler" | "platform") =>
    openDatabase({ prepare: true, url: database.urlFor(role), role, max: 4, applicationName: "leasehold-test" });
  const pools = { web: open("web"), worker: open("worker"), scheduler: open("scheduler"), platform: open("platform") };
  let fallback: Promise<Definition> | undefined;
  const factory: Factory = {
    ...pools,
    tenant: async (slug = `t-${randomUUID().slice(0, 8)}`) => {
      const rows = await database.query<{ id: string }>(
        "insert into app.tenants (slug, name) values ($1, $1) returning id",
        [slug],
      );
      return { tenantId: rows[0]?.id ?? "", actor: SYSTEM };
    },
    definition: (input = {}) =>
      createDefinition(pools.platform, SYSTEM, {
        key: `def-${randomUUID().slice(0, 8)}`,
        command_key: "none",
        ...input,
      }),
    job: async (scope, job = {}) => {
      fallback ??= factory.definition();
      const definitionKey = job.definitionKey ?? (await fallback).key;
      const { jobId } = await enqueueJob(pools.web, scope, { ...job, definitionKey });
      const view = await getJob(pools.web, scope, jobId);
      if (!view) throw new Error("the job that was just enqueued is not there");
      return view;
    },
    claim: async (workerId, limit = 100) => {
      const { lanes } = await pollWork(pools.worker, { workerId, afterLane: 0, maxLanes: 256 });
      const asked = lanes.map(({ laneNo, limited }) => ({ laneNo, limited, limit, leaseSeconds: 30 }));
      return claimJobs(pools.worker, { workerId, lanes: asked, limit });
    },
    runningJob: async (scope, job = {}) => {
      const { id } = await factory.job(scope, { priority: 1, ...job });
      const claimed = (await factory.claim("factory-worker")).find((one) => one.jobId === id);
      if (!claimed) throw new Error("the job was not claimed");
      await startAttempts(pools.worker, [claimed]);
      return claimed;
    },
    close: async () => {
      await Promise.all(Object.values(pools).map((pool) => pool.close()));
    },
  };
  return factory;
}
