/*
 * Checks the tables after faults: no job lost, no result accepted under a lost lease, no limit exceeded. The checker
 * reads only the tables and the caller's own list of accepted jobs, and shares no code with the queue.
 *
 * Start with `expectSound` below; `rules.ts` and `limits.ts` have the rules.
 */

import { expect } from "vitest";
import type { TestDatabase } from "../database";
import { type Bound, overstepped, type RunningSpan, SPANS_SQL } from "./limits";
import { rulesFor } from "./rules";

export type { Bound } from "./limits";

export interface Breach {
  readonly rule: string;
  readonly jobId: string | null;
  readonly detail: string;
}

export interface CheckOptions {
  /** Ids that the API reported as accepted. */
  readonly accepted?: readonly string[];
  /** Commands that print the number of their attempt and nothing else. */
  readonly speakers?: readonly string[];
  /** True if every job must have ended. */
  readonly over?: boolean;
  readonly bounds?: readonly Bound[];
}

export interface Verdict {
  /** Number of rows that break each rule; 0 for a rule that holds. */
  readonly counts: Readonly<Record<string, number>>;
  readonly breaches: readonly Breach[];
  readonly jobs: number;
  readonly attempts: number;
}

const MOST_SHOWN = 20;

/** Checks the tables of a database. Reads nothing else but the caller's own list of accepted jobs. */
export async function inspect(
  { query }: Pick<TestDatabase, "query">,
  { accepted = [], speakers = [], over = false, bounds = [] }: CheckOptions = {},
): Promise<Verdict> {
  const rules = rulesFor({ over });
  const text = rules.map(({ name, text }) => `select '${name}' as rule, job_id, detail from (${text}) x`);
  const rows = await query<{ rule: string; job_id: string | null; detail: string }>(text.join(" union all "), [
    accepted,
    speakers,
  ]);
  const breaches: Breach[] = rows.map(({ rule, job_id, detail }) => ({ rule, jobId: job_id, detail }));
  const counts: Record<string, number> = Object.fromEntries(rules.map(({ name }) => [name, 0]));
  for (const { rule } of breaches) counts[rule] = (counts[rule] ?? 0) + 1;
  const spans = bounds.length > 0 ? await readSpans(query) : [];
  for (const bound of bounds) {
    const by = overstepped(bound, spans);
    counts[`limit ${bound.name}`] = by;
    if (by > 0) breaches.push({ rule: `limit ${bound.name}`, jobId: null, detail: `overstepped by ${by}` });
  }
  const [size] = await query<{ jobs: number; attempts: number }>(
    "select (select count(*)::int from app.jobs) as jobs, (select count(*)::int from app.job_attempts) as attempts",
  );
  return { counts, breaches, jobs: size?.jobs ?? 0, attempts: size?.attempts ?? 0 };
}

/** Fails with the first breaches when any rule is broken. */
export async function expectSound(database: Pick<TestDatabase, "query">, options: CheckOptions = {}): Promise<Verdict> {
  const verdict = await inspect(database, options);
  expect(verdict.breaches.slice(0, MOST_SHOWN), JSON.stringify(verdict.counts)).toEqual([]);
  return verdict;
}

async function readSpans(query: TestDatabase["query"]): Promise<RunningSpan[]> {
  const rows = await query<{
    tenant_id: string;
    queue: string;
    definition_key: string;
    claimed_at: number;
    ended_at: number | null;
  }>(SPANS_SQL);
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    queue: row.queue,
    definitionKey: row.definition_key,
    claimedAt: row.claimed_at,
    endedAt: row.ended_at ?? Number.POSITIVE_INFINITY,
  }));
}
