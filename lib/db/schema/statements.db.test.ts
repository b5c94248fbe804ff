import path from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Statement } from "@/lib/db";
import { BRANCHES } from "@/lib/queue/read/list-jobs.sql";
import { testDatabase } from "@/lib/testing/database";
import { REPOSITORY } from "@/lib/testing/measure/readers";
import { type Kind, type StatementCall, statementCalls } from "@/lib/testing/statements/calls";
import { compareStatement } from "@/lib/testing/statements/compare";
import { describer } from "@/lib/testing/statements/describe";
import { madeStatements, statement } from "../statement";

const database = await testDatabase();
const { describe: described, close } = await describer(database.adminUrl);
afterAll(close);
const calls = statementCalls(REPOSITORY);

/** What functions that build statements are called with. */
const ARGUMENTS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  listJobsSql: (["ids", "count"] as const).flatMap((kind) =>
    [true, false].flatMap((scans) =>
      (["none", "id", "definitions"] as const).flatMap((driver) => [
        [{ branches: "all", driver, scans }, kind],
        [{ branches: BRANCHES, driver, scans }, kind],
      ]),
    ),
  ),
};

/** The statements that a call may run; none if the call is handed its statement. */
async function statementsOf({ statements, text }: StatementCall): Promise<Statement[]> {
  const found = await Promise.all(statements.map(readStatements));
  // A list of jobs returns ids or a count.
  return found.flat().filter(({ name }) => !name.startsWith("list_jobs_") || text.includes(kindOf(name)));
}

const kindOf = (name: string): string => `"${name.split("_")[2]}"`;

async function readStatements({ file, constant, name }: StatementCall["statements"][number]): Promise<Statement[]> {
  const exported: unknown = (await import(file))[constant] ?? madeStatements.get(name ?? "");
  if (typeof exported === "function") return (ARGUMENTS[constant] ?? []).map((values) => exported(...values));
  if (isStatement(exported)) return [exported];
  return typeof exported === "object" && exported !== null ? Object.values(exported).filter(isStatement) : [];
}

const isStatement = (value: unknown): value is Statement =>
  typeof value === "object" && value !== null && "text" in value && "repeatable" in value;

/** Columns that may be null in their tables, and that the conditions of the statement rule out. */
const NEVER_NULL: Readonly<Record<string, readonly string[]>> = {
  "lib/queue/actions/retry-job.ts": ["status"],
  "lib/queue/artifacts/delete-artifact.ts": ["completed_at"],
  "lib/queue/artifacts/read-artifacts.ts": ["completed_at"],
  "lib/queue/claim/claim-jobs.ts": ["claimed_at"],
  "lib/queue/events/listeners.ts": ["event_name"],
  "lib/queue/events/publish-events.ts": ["producer_id"],
  "lib/queue/events/read-events.ts": ["event_id"],
  "lib/queue/events/start-firings.ts": ["job_id"],
  "lib/queue/leases/rescue-expired-leases.ts": ["claimed_by_worker"],
  "lib/queue/remote/remote-work.ts": ["worker_id", "claimed_at"],
  "lib/queue/schedules/fire-due-schedules.ts": ["next_run_at"],
  "lib/queue/triggers/trigger-limits.ts": ["condition"],
  "lib/webhooks/deliveries.ts": ["secret"],
  "lib/webhooks/endpoints.ts": ["secret"],
};
const isRuledOut = ({ at }: StatementCall, problem: string): boolean =>
  (NEVER_NULL[at.replace(/:\d+$/, "")] ?? []).some(
    (column) => problem === `${column} may be null, and is not declared so`,
  );

/** Calls that are handed their statement or its text: CREATE DATABASE, a pool, and a warm-up that reads no rows. */
const HANDED_ON = ["admin statement", "lib/db statement", "lib/queue/claim statement"];

test("each statement returns the columns that its caller declares, and takes the values that its caller gives", async () => {
  const problems: string[] = [];
  for (const call of calls) {
    for (const one of await statementsOf(call)) {
      const found = compareStatement(call, one, await described(one)).filter((problem) => !isRuledOut(call, problem));
      problems.push(...found.map((problem) => `${call.at}: ${problem}`));
    }
  }
  expect(problems).toEqual([]);
});

test("each call that the test cannot look up is known", async () => {
  const unknown: string[] = [];
  for (const call of calls)
    if ((await statementsOf(call)).length === 0) unknown.push(`${path.dirname(call.at)} ${call.text.split("(")[0]}`);
  expect([...new Set(unknown)].toSorted()).toEqual(HANDED_ON);
});

test("a wrong row and wrong values are found", async () => {
  const column = (kind: Kind, isNullable = false) => ({
    kinds: new Set([kind]),
    isNullable,
    element: null,
    isOptional: false,
  });
  const call = { at: "x", statements: [], text: "x", values: [column("boolean")] };
  const row = [
    { name: "id", ...column("number") },
    { name: "deleted_at", ...column("Date") },
    { name: "missing", ...column("string") },
  ];
  const one = statement("wrong", "select id, deleted_at from app.job_triggers where id = $1");
  expect(compareStatement({ ...call, row }, one, await described(one))).toEqual([
    "id is declared as number, and is uuid",
    "deleted_at may be null, and is not declared so",
    "missing is declared, and no column",
    "value $1 does not fit uuid",
  ]);
});
