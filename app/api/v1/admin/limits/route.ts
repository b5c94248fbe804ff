import { auditedChange } from "@/lib/api/audited";
import { Reply } from "@/lib/api/http/respond";
import { defined } from "@/lib/api/resources/filters";
import { limitChange } from "@/lib/api/resources/queue-changes";
import { platformRoute } from "@/lib/api/route";
import { createLimitBody as createBody, limit, limitList } from "@/lib/contract";
import { createLimit, listLimits } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:queues:read",
  summary: "List all limits",
  response: limitList,
  handler: async ({ db }) => ({ data: await listLimits(db) }),
});

export const POST = platformRoute({
  permission: "platform:queues:write",
  summary: "Create a limit on running jobs or starts per second",
  body: createBody,
  response: limit,
  status: 201,
  handler: async (context) => {
    const { body } = context;
    const created = await auditedChange(
      context,
      (db) => createLimit(db, defined(body)),
      (made) => limitChange("limit.created", made),
    );
    return new Reply(created, {
      status: 201,
      headers: { location: `/api/v1/admin/limits/${created.id}` },
    });
  },
});
