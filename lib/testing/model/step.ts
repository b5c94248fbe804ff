import type fc from "fast-check";
import { type ClaimedJob, QueueError, type RunnableDefinition, type TenantScope } from "@/lib/queue/testing";
import type { Factory } from "../rows/factories";
import type { QueueModel } from "./model";
import type { LeaseModel, LimitModel } from "./shapes";

export interface Real {
  readonly make: Factory;
  readonly scope: TenantScope;
  readonly definition: RunnableDefinition;
  /** The claimed job of each lease. */
  readonly claimed: Map<string, ClaimedJob>;
  setClock(atMs: number): Promise<void>;
  /** Lanes of this run's tenant. */
  lanes(): Promise<number[]>;
  /** Limits the concurrent leases and the starts of this run's tenant. */
  setLimit(limit: LimitModel): Promise<void>;
}

/** One step: runs for real, runs in the model, and compares the results. */
export type ModelStep = fc.AsyncCommand<QueueModel, Real>;
export type ModelAction = (model: QueueModel, real: Real) => Promise<void>;

export const SWEEP = { limit: 1000 };
export const SECOND = 1000;

class NamedStep implements ModelStep {
  constructor(
    private readonly text: string,
    private readonly act: ModelAction,
  ) {}
  check = () => true;
  run = (model: QueueModel, real: Real) => this.act(model, real);
  toString = () => this.text;
}

/** A step whose choices are drawn by fast-check. */
export function modelStep<T>(
  name: string,
  choices: fc.Arbitrary<T>,
  act: (choice: T) => ModelAction,
): fc.Arbitrary<ModelStep> {
  return choices.map((choice) => new NamedStep(`${name} ${JSON.stringify(choice)}`, act(choice)));
}

export const refusalCodeOf = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (error instanceof QueueError) return error.code;
      throw error;
    },
  );

/** Picks one of the latest, so that most picks are meaningful, and sometimes one that never existed. */
function pick<T>(all: readonly T[], n: number, absent: T): T {
  return all.length === 0 ? absent : (all[Math.max(0, all.length - 1 - (n % 6))] ?? absent);
}

export const NOBODY = "00000000-0000-7000-8000-000000000000";
export const aJob = (model: QueueModel, n: number): string => pick([...model.jobs.keys()], n, NOBODY);
export const aLease = (model: QueueModel, n: number): LeaseModel =>
  pick(model.leases, n, { jobId: NOBODY, leaseNo: 1 });
