import { serializeTests, testRequest } from "@/lib/api/events";
import { HttpProblem } from "@/lib/api/problem";
import { tenantRoute } from "@/lib/api/route";
import { testTriggers as testBody, triggerTests } from "@/lib/contract";
import { testTriggers } from "@/lib/queue";
import { roleAllows } from "@/lib/tenancy/permissions";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "triggers:read",
  summary: "Say what an event, or the newest stored ones, would do with triggers, without storing anything",
  body: testBody,
  response: triggerTests,
  handler: async ({ db, scope, body, place }) => {
    // What a template gives of stored events is their data.
    if (body.replay !== undefined && !place.permissions.includes("events:read"))
      throw new HttpProblem(roleAllows(place.role, "events:read") ? "insufficient-scope" : "forbidden");
    return serializeTests(await testTriggers(db, scope, testRequest(body)));
  },
});
