import { testRequest } from "@/lib/api/resources/events";
import { tenantRoute } from "@/lib/api/route";
import { testTriggersBody as testBody, triggerTests } from "@/lib/contract";
import { testTriggers } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "triggers:read",
  summary: "Say what an event, or the newest stored ones, would do with triggers, without storing anything",
  body: testBody,
  response: triggerTests,
  // The rendered payloads show the data of stored events, and job.* events hold results and errors of jobs.
  permissionsOf: ({ replay }) => (replay === undefined ? [] : ["events:read", "jobs:read"]),
  handler: async ({ db, scope, body }) => await testTriggers(db, scope, testRequest(body)),
});
