import { etagOf, expectedVersions } from "@/lib/api/http/etag";
import { notFound } from "@/lib/api/http/problem";
import { Reply } from "@/lib/api/http/respond";
import { triggerPatch } from "@/lib/api/resources/triggers";
import { tenantRoute } from "@/lib/api/route";
import { trigger, triggerParams, updateTrigger } from "@/lib/contract";
import { changeTrigger, deleteTrigger, getTrigger } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "triggers:read",
  summary: "Read one trigger",
  params: triggerParams,
  response: trigger,
  etag: true,
  handler: async ({ db, scope, params }) => {
    const found = await getTrigger(db, scope, params.triggerId);
    if (!found) throw notFound();
    return new Reply(found, { headers: etagOf(found) });
  },
});

export const PATCH = tenantRoute({
  permission: "triggers:write",
  summary: "Change a trigger. Omitted fields stay unchanged, null clears a value",
  params: triggerParams,
  body: updateTrigger,
  response: trigger,
  etag: true,
  handler: async ({ db, scope, params, body, info }) => {
    const expected = expectedVersions(info.ifMatch);
    const changed = await changeTrigger(db, scope, { ...params, expected, patch: triggerPatch(body) });
    return new Reply(changed, { headers: etagOf(changed) });
  },
});

export const DELETE = tenantRoute({
  permission: "triggers:write",
  summary: "Delete a trigger. Its jobs keep running",
  params: triggerParams,
  response: trigger,
  etag: true,
  handler: async ({ db, scope, params, info }) => {
    const deleted = await deleteTrigger(db, scope, { ...params, expected: expectedVersions(info.ifMatch) });
    return deleted;
  },
});
