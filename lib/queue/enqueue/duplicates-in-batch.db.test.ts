import { afterAll, beforeAll, expect, test } from "vitest";
import { type Definition, enqueueJobs, getJob, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
let definition: Definition;
beforeAll(async () => {
  scope = await make.tenant();
  definition = await make.definition();
});
afterAll(() => make.close());

const LATER = new Date(Date.now() + 3_600_000);
const LATEST = new Date(Date.now() + 7_200_000);

const firsts = [
  ["ready", {}],
  ["later", { scheduledFor: LATER }],
  ["blocked", { dependsOn: [{ ref: "parent" }] }],
  ["of another priority", { priority: 7 }],
] as const;
const modes = ["return", "replace_payload", "reschedule"] as const;
const cases = firsts.flatMap(([name, first]) => modes.map((onConflict) => [name, onConflict, first] as const));

test.each(cases)(
  "an item with the same key as a %s item of its batch returns that item's job (%s)",
  async (name, mode, first) => {
    const definitionKey = definition.key;
    const dedupeKey = `${name}-${mode}`;
    const dedupe = { mode: "live", onConflict: mode } as const;
    const jobs = await enqueueJobs(make.web, scope, [
      { definitionKey, ref: "parent" },
      { definitionKey, dedupeKey, dedupe, ...first },
      { definitionKey, dedupeKey, dedupe, scheduledFor: LATEST, priority: 900 },
      { definitionKey, dedupeKey, dedupe },
    ]);
    const [, holder, ...others] = jobs;
    for (const other of others) expect(other).toEqual({ ...holder, deduplicated: true, conflict: "returned" });
    const stored = await getJob(make.web, scope, holder?.jobId ?? "");
    expect(holder).toMatchObject({
      status: stored?.status,
      scheduledFor: new Date(stored?.scheduled_for ?? ""),
      queuedAt: new Date(stored?.queued_at ?? ""),
    });
  },
);
