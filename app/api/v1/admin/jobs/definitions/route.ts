import { auditedChange } from "@/lib/api/audited";
import { Reply } from "@/lib/api/http/respond";
import { defined } from "@/lib/api/resources/filters";
import { platformRoute } from "@/lib/api/route";
import { createDefinitionBody as createBody, definition, definitionList } from "@/lib/contract";
import { createDefinition, listDefinitions } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:definitions:read",
  summary: "List all definitions",
  response: definitionList,
  handler: async ({ db }) => ({ data: await listDefinitions(db) }),
});

export const POST = platformRoute({
  permission: "platform:definitions:write",
  summary: "Create a definition",
  body: createBody,
  response: definition,
  status: 201,
  handler: async (context) => {
    const { actor, body } = context;
    const created = await auditedChange(
      context,
      (db) => createDefinition(db, actor, defined(body)),
      ({ id, key }) => ({ action: "definition.created", objectKind: "definition", objectId: id, detail: { key } }),
    );
    const headers = { location: `/api/v1/admin/jobs/definitions/${created.id}` };
    return new Reply(created, { status: 201, headers });
  },
});
