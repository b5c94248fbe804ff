import { definitionInput } from "@/lib/api/filters";
import { platformRoute } from "@/lib/api/route";
import { serializeDefinition } from "@/lib/api/serialize";
import { definition, definitionParams, updateDefinition as updateBody } from "@/lib/contract";
import { updateDefinition } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const PATCH = platformRoute({
  permission: "platform:definitions:write",
  summary: "Change a definition; its version rises",
  params: definitionParams,
  body: updateBody,
  response: definition,
  handler: async ({ db, actor, params, body }) =>
    serializeDefinition(await updateDefinition(db, actor, params.definitionId, definitionInput(body))),
});
