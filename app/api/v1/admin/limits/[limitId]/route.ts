import { auditedChange } from "@/lib/api/audited";
import { defined } from "@/lib/api/resources/filters";
import { limitChange } from "@/lib/api/resources/queue-changes";
import { wakeWorkers } from "@/lib/api/resources/wake";
import { platformRoute } from "@/lib/api/route";
import { limit, limitParams, updateLimitBody as updateBody } from "@/lib/contract";
import { deleteLimit, updateLimit } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const PATCH = platformRoute({
  permission: "platform:queues:write",
  summary: "Change a limit",
  params: limitParams,
  body: updateBody,
  response: limit,
  handler: async (context) => {
    const { db, params, body } = context;
    const changed = await auditedChange(
      context,
      (inside) => updateLimit(inside, { id: params.limitId, patch: defined(body) }),
      (now) => limitChange("limit.changed", now),
    );
    wakeWorkers(db);
    return changed;
  },
});

export const DELETE = platformRoute({
  permission: "platform:queues:write",
  summary: "Delete a limit",
  params: limitParams,
  response: limit,
  handler: async (context) => {
    const { db, params } = context;
    const deleted = await auditedChange(
      context,
      (inside) => deleteLimit(inside, params.limitId),
      (was) => limitChange("limit.deleted", was),
    );
    wakeWorkers(db);
    return deleted;
  },
});
