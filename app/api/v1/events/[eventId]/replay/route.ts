import { chainDepth } from "@/lib/api/resources/chain";
import { tenantRoute } from "@/lib/api/route";
import { replayEventBody as body, eventParams, replayedEvent } from "@/lib/contract";
import { replayEvent } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const POST = tenantRoute({
  permission: "events:publish",
  summary: "Replay a stored event for the current triggers",
  params: eventParams,
  body,
  response: replayedEvent,
  chained: true,
  handler: async ({ db, scope, params, info, runtime }) => {
    const depths = { maxDepth: runtime.config.eventMaxDepth, chainDepth: chainDepth(info) };
    return await replayEvent(db, scope, { eventId: params.eventId, ...depths });
  },
});
