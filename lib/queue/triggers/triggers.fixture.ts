import { afterAll, beforeEach } from "vitest";
import { changeTrigger, createTrigger } from "@/lib/queue/testing";
import type { TriggerInput, TriggerPatch } from "@/lib/queue/types";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

export const MINUTE = 60_000;

/**
 * Two tenants, a definition that accepts any payload, and one that requires `{n: integer}`. The clock is set right
 * before each test.
 */
export async function triggersFixture() {
  const database = await testDatabase();
  const factory = makeFactory(database);
  afterAll(() => factory.close());
  beforeEach(() => database.moveClock(0));
  const [scope, other] = [await factory.tenant("acme"), await factory.tenant("globex")];
  const { key: definitionKey } = await factory.definition({ key: "any" });
  const properties = { n: { type: "integer" } };
  const argSchema = { type: "object", properties, required: ["n"], additionalProperties: false };
  await factory.definition({ key: "strict", arg_schema: argSchema });
  const label = "nightly";

  return {
    database,
    factory,
    scope,
    other,
    make: (input: Partial<TriggerInput> = {}, as = scope) =>
      createTrigger(factory.web, as, {
        label,
        trigger_type: "schedule",
        definition_key: definitionKey,
        cron_expr: "* * * * *",
        ...input,
      }),
    change: (triggerId: string, patch: TriggerPatch, expected: number[] | null = null) =>
      changeTrigger(factory.web, scope, { triggerId, expected, patch }),
    clock: async (): Promise<number> => {
      const [row] = await database.query<{ now: Date }>("select app.now() as now");
      return row?.now.getTime() ?? 0;
    },
    stored: async (id: string) =>
      (await database.query("select * from app.job_triggers where id = $1", [id]))[0] as Record<string, unknown>,
  };
}

export const nextMinute = (from: number): Date => new Date(Math.floor(from / MINUTE + 1) * MINUTE);

/** The pointers of a rejected action's problems. */
export const pointers = async (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => "was accepted",
    (error: { problems?: readonly { pointer: string }[] }) => error.problems?.map(({ pointer }) => pointer) ?? error,
  );
