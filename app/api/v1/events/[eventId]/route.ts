import { notFound } from "@/lib/api/http/problem";
import { shownEvent } from "@/lib/api/resources/events";
import { tenantRoute } from "@/lib/api/route";
import { event, eventParams } from "@/lib/contract";
import { getEvent } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "events:read",
  summary: "Read an event: its data, what it started, and which triggers did not match and why",
  params: eventParams,
  response: event,
  handler: async ({ db, scope, params, membership }) => {
    const found = await getEvent(db, scope, params.eventId);
    if (!found) throw notFound();
    return shownEvent(found, membership.permissions);
  },
});
