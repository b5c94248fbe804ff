import { auditedChange } from "@/lib/api/audited";
import { Reply } from "@/lib/api/http/respond";
import { limitInput } from "@/lib/api/resources/queue-input";
import { limitChange, serializeLimit } from "@/lib/api/resources/serialize-queues";
import { platformRoute } from "@/lib/api/route";
import { createLimitBody as createBody, limit, limitList } from "@/lib/contract";
import { createLimit, listLimits } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:queues:read",
  summary: "List all limits",
  response: limitList,
  handler: async ({ db }) => ({ data: (await listLimits(db)).map(serializeLimit) }),
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
      (db) => createLimit(db, limitInput(body)),
      (made) => limitChange("limit.created", made),
    );
    return new Reply(serializeLimit(created), {
      status: 201,
      headers: { location: `/api/v1/admin/limits/${created.id}` },
    });
  },
});
