import { previewInput } from "@/lib/api/resources/triggers";
import { tenantRoute } from "@/lib/api/route";
import { previewTriggerBody as previewBody, triggerPreview } from "@/lib/contract";
import { previewTrigger } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "triggers:read",
  summary: "Preview a schedule: its description and next runs",
  body: previewBody,
  response: triggerPreview,
  handler: async ({ db, scope, body }) => await previewTrigger(db, scope, previewInput(body)),
});
