import { auditedChange } from "@/lib/api/audited";
import { defined } from "@/lib/api/resources/filters";
import { platformRoute } from "@/lib/api/route";
import { definition, definitionParams, updateDefinitionBody as updateBody } from "@/lib/contract";
import { updateDefinition } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const PATCH = platformRoute({
  permission: "platform:definitions:write",
  summary: "Change a definition and create a new version",
  params: definitionParams,
  body: updateBody,
  response: definition,
  handler: async (context) => {
    const { actor, params, body } = context;
    const change = { id: params.definitionId, patch: defined(body) };
    const fields = Object.keys(body);
    const changed = await auditedChange(
      context,
      (db) => updateDefinition(db, actor, change),
      ({ id, key, version }) => ({
        action: "definition.changed",
        objectKind: "definition",
        objectId: id,
        detail: { key, version, fields },
      }),
    );
    return changed;
  },
});
