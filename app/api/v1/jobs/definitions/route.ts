import { tenantRoute } from "@/lib/api/route";
import { definitionList } from "@/lib/contract";
import { listDefinitions } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "definitions:read",
  summary: "List the active definitions",
  response: definitionList,
  handler: async ({ db }) => {
    const definitions = await listDefinitions(db);
    return { data: definitions.filter((definition) => definition.is_active) };
  },
});
