import { expect } from "vitest";
import type { TestDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";
import type { Answer } from "./web";

export const TRIGGERS = "/api/v1/jobs/triggers";
type Headers = Record<string, string>;

/** Starts the fixture of queues, with the trigger requests as the first tenant's admin. */
export async function triggerFixture(database: TestDatabase) {
  const fixture = await queueFixture(database);
  const { web, key } = fixture;
  const post = (body: unknown, headers: Headers = {}, as = key) =>
    web.call("POST", TRIGGERS, { key: as, body, headers });
  return {
    ...fixture,
    post,
    patch: (id: string, body: unknown, headers: Headers = {}) =>
      web.call("PATCH", `${TRIGGERS}/${id}`, { key, body, headers }),
    run: (id: string, body: unknown = {}, headers: Headers = {}) =>
      web.call("POST", `${TRIGGERS}/${id}/run`, { key, body, headers }),
    preview: (body: unknown) => web.call("POST", `${TRIGGERS}/preview`, { key, body }),
    made: async (body: unknown = cron("0 2 * * *")) => {
      const answer = await post(body);
      expect(answer.status, answer.text).toBe(201);
      return answer.body;
    },
  };
}

/** Returns the body of a schedule trigger. */
export const cron = (cron_expr: string, more: Record<string, unknown> = {}) => ({
  label: "Nightly provider sync",
  trigger_type: "schedule",
  cron_expr,
  timezone: "America/New_York",
  definition_key: "any",
  payload_template: { path_prefix: "/" },
  ...more,
});

/** Returns the pointers of a 422 answer. */
export function refusal(answer: Answer): string[] {
  expect(answer.status, answer.text).toBe(422);
  return (answer.body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer);
}
