/*
 * Model test of the queue: fast-check draws sequences of operations, each runs for real and in a model without a
 * database, and the whole state is compared after every step. The model states the queue's rules independently.
 *
 * Start with `runModel` below, then `model.ts` (the model), `commands.ts` (the operations) and `stored.ts` (the
 * comparison).
 */

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import pg from "pg";
import { expect } from "vitest";
import { createLimit, DefinitionVersions, deleteLimit, SYSTEM, updateLimit } from "@/lib/queue/testing";
import type { TestDatabase } from "../database";
import { makeFactory } from "../rows/factories";
import { anyStep } from "./commands";
import { BACKOFF_MS } from "./ends";
import { freezeClock, SET_CLOCK } from "./frozen-clock";
import { QueueModel } from "./model";
import type { LimitModel } from "./shapes";
import type { ModelStep, Real } from "./step";
import { compare } from "./stored";

export interface ModelRun {
  readonly runs: number;
  readonly steps: number;
  readonly seed: number;
  /** Called after each run without a difference, with the number of steps so far. */
  readonly onRun?: (steps: number) => void;
}

export interface ModelReport {
  readonly steps: number;
  /** How often each kind of step ran. */
  readonly kinds: ReadonlyMap<string, number>;
}

/**
 * Draws sequences of steps, runs each step for real and in the model, and compares the whole database with the model
 * after every step. Each run has a tenant of its own, and only `wait` moves the time.
 * @throws with the seed and the steps that led to the difference
 */
export async function runModel(database: TestDatabase, { runs, steps, seed, onRun }: ModelRun): Promise<ModelReport> {
  let now = Math.floor(Date.now() / 1000) * 1000;
  await freezeClock(database, now);
  const make = makeFactory(database);
  const admin = new pg.Client({ connectionString: database.adminUrl });
  admin.on("error", () => {}); // dropping the database ends its connections
  await admin.connect();
  const retry = { strategy: "fixed", delay_seconds: BACKOFF_MS / 1000, jitter: 0 } as const;
  const { id, version } = await make.definition({ retry });
  const definition = await new DefinitionVersions().of(make.worker, { definitionId: id, definitionVersion: version });
  const kinds = new Map<string, number>();
  let done = 0;

  const oneRun = async (sequence: readonly ModelStep[]) => {
    const slug = `m-${crypto.randomUUID()}`;
    const tenant = await admin.query("insert into app.tenants (slug, name) values ($1, $1) returning id", [slug]);
    const tenantId: string = tenant.rows[0].id;
    const model = new QueueModel(now);
    const real: Real = {
      make,
      setLimit: (limit) => setLimit(limit),
      definition,
      claimed: new Map(),
      scope: { tenantId, actor: SYSTEM },
      setClock: async (atMs) => {
        now = atMs;
        await admin.query(SET_CLOCK, [atMs]);
      },
      lanes: async () => {
        const { rows } = await admin.query("select lane_no from app.lanes where tenant_id = $1 order by 1", [tenantId]);
        return rows.map(({ lane_no }) => lane_no);
      },
    };
    let limitId: number | undefined;
    const setLimit = async ({ running, starts }: LimitModel) => {
      const { platform } = make;
      const values = {
        max_running: running,
        starts_per_second: starts?.perSecond ?? null,
        burst: starts?.burst ?? null,
      };
      if (running === null && starts === null) {
        if (limitId !== undefined) await deleteLimit(platform, limitId);
        limitId = undefined;
      } else if (limitId !== undefined) {
        await updateLimit(platform, { id: limitId, patch: values });
      } else {
        const target = { scope: "tenant_definition", definition_key: definition.key, tenant: tenantId } as const;
        limitId = (await createLimit(platform, { ...target, ...values })).id;
      }
    };
    const trace: string[] = [];
    try {
      for (const step of sequence) {
        trace.push(step.toString());
        await step.run(model, real);
        const { stored, expected } = await compare(admin, model, tenantId);
        // vitest's own comparison is slow, and its output is needed only for a difference.
        if (!isDeepStrictEqual(stored, expected)) expect(stored).toEqual(expected);
        const kind = step.toString().split(/ [{"\d]/)[0] ?? "";
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        done += 1;
      }
      onRun?.(done);
    } catch (error) {
      throw new Error(`after ${trace.join("\n  then ")}\n${(error as Error).message}`, { cause: error });
    } finally {
      await setLimit({ running: null, starts: null });
      await admin.query("delete from app.live_jobs where tenant_id = $1", [tenantId]);
    }
  };

  try {
    const sequences = fc.array(anyStep, { minLength: steps, maxLength: steps });
    await fc.assert(fc.asyncProperty(sequences, oneRun), { numRuns: runs, seed, endOnFailure: true });
    return { steps: done, kinds };
  } finally {
    await Promise.all([make.close(), admin.end()]);
  }
}
