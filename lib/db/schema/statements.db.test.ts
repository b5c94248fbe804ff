import path from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import type { Statement } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { ROOT } from "@/lib/testing/measure/readers";
import { type StatementCall, statementCalls } from "@/lib/testing/statements/calls";
import { compareStatement } from "@/lib/testing/statements/compare";
import { describer } from "@/lib/testing/statements/describe";

/** Every statement that was made, by the name that `statement` was given. */
const made = vi.hoisted(() => new Map<string, Statement>());
vi.mock("../statement", async (original) => {
  const actual = await original<typeof import("../statement")>();
  const recording: typeof actual.statement = (name, ...rest) => {
    const one = actual.statement(name, ...rest);
    made.set(name, one);
    return one;
  };
  return { ...actual, statement: recording };
});

const database = await testDatabase();
const { describe: described, close } = await describer(database.adminUrl);
afterAll(close);
const calls = statementCalls(ROOT);

/** The statements that a call may run; none if the call is handed its statement. */
async function statementsOf({ statement }: StatementCall): Promise<Statement[]> {
  if (!statement) return [];
  const exported: unknown = (await import(statement.file))[statement.constant] ?? made.get(statement.name ?? "");
  if (isStatement(exported)) return [exported];
  return typeof exported === "object" && exported !== null ? Object.values(exported).filter(isStatement) : [];
}

const isStatement = (value: unknown): value is Statement =>
  typeof value === "object" && value !== null && "text" in value && "repeatable" in value;

test("each statement returns the columns that its caller declares, and takes the values that its caller gives", async () => {
  const problems: string[] = [];
  for (const call of calls) {
    for (const one of await statementsOf(call))
      problems.push(...compareStatement(call, one, await described(one)).map((problem) => `${call.at}: ${problem}`));
  }
  expect(problems).toEqual([]);
});

test("what the test cannot look up is known", async () => {
  const unknown: string[] = [];
  for (const call of calls)
    if ((await statementsOf(call)).length === 0) unknown.push(`${path.dirname(call.at)} ${call.text}`);
  expect([...new Set(unknown)].toSorted()).toEqual([]);
});
