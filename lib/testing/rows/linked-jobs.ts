import {
  type ClaimedJob,
  type Dependency,
  enqueueJob,
  getJob,
  type Job,
  type NewJob,
  settleAttempts,
  type TenantScope,
} from "@/lib/queue/testing";
import type { TestDatabase } from "../database";
import { succeeded } from "./attempt-ends";
import { type Factory, makeFactory } from "./factories";

/** One tenant and one definition, with helpers for tests of dependent jobs. */
export interface LinkedJobs {
  readonly make: Factory;
  readonly scope: TenantScope;
  readonly definitionKey: string;
  /** Enqueues a job that depends on others; resolves to its id. */
  child(parents: readonly Dependency[], job?: Partial<NewJob>): Promise<string>;
  see(jobId: string): Promise<Job>;
  statusOf(jobId: string): Promise<Job["status"]>;
  /** Claims every ready job, so that no later claim of the test gets it. */
  claimAll(): Promise<ClaimedJob[]>;
  /** Claims a ready job and ends it as succeeded. */
  succeed(jobId: string, result?: unknown): Promise<void>;
}

export async function makeLinkedJobs(database: TestDatabase): Promise<LinkedJobs> {
  const make = makeFactory(database);
  const scope = await make.tenant();
  const { key: definitionKey } = await make.definition();
  const see = async (jobId: string) => {
    const job = await getJob(make.web, scope, jobId);
    if (!job) throw new Error("no such job");
    return job;
  };
  return {
    make,
    scope,
    definitionKey,
    child: async (parents, job = {}) =>
      (await enqueueJob(make.web, scope, { definitionKey, ...job, dependsOn: parents })).jobId,
    see,
    statusOf: async (jobId) => (await see(jobId)).status,
    claimAll: () => make.claim("w", 1000),
    succeed: async (jobId, result = { ok: true }) => {
      const claimed = (await make.claim("w", 1000)).find((one) => one.jobId === jobId);
      if (!claimed) throw new Error("not claimed");
      await settleAttempts(make.worker, [succeeded(claimed, result)]);
    },
  };
}
