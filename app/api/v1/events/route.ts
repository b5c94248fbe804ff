import { encodeCursor } from "@/lib/api/http/cursor";
import { listPosition } from "@/lib/api/http/list";
import { Reply } from "@/lib/api/http/respond";
import { chainDepth } from "@/lib/api/resources/chain";
import { newEvents } from "@/lib/api/resources/events";
import { defined } from "@/lib/api/resources/filters";
import { tenantRoute } from "@/lib/api/route";
import { publishEventsBody as body, eventList, eventListQuery, LIMITS, publishedEvents } from "@/lib/contract";
import { listEvents, publishEvents } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "events:read",
  summary: "List events, newest first, with what each started",
  query: eventListQuery,
  response: eventList,
  handler: async ({ db, scope, query, runtime }) => {
    const { limit: asked, cursor, ...filter } = query;
    const list = { secret: runtime.config.cursorSecret, list: "events", tenantId: scope.tenantId, filter };
    const { limit, afterId } = listPosition({ limit: asked, cursor }, list);
    const page = { filter: defined(filter), limit, ...(afterId === undefined ? {} : { afterId }) };
    const { events, hasMore } = await listEvents(db, scope, page);
    const last = events.at(-1);
    return {
      data: events,
      pagination: {
        limit,
        has_more: hasMore,
        next_cursor: hasMore && last ? encodeCursor(list, last.id) : null,
      },
    };
  },
});

export const POST = tenantRoute({
  permission: "events:publish",
  summary: "Publish an event, or up to 500 atomically. Triggers start their jobs in the same transaction",
  body,
  bodyNodes: LIMITS.bulkNodes,
  response: publishedEvents,
  status: 201,
  chained: true,
  handler: async ({ db, scope, body: sent, info, runtime }) => {
    const isBatch = sent.events !== undefined;
    const published = await publishEvents(db, scope, newEvents(sent, chainDepth(info)), {
      maxDepth: runtime.config.eventMaxDepth,
      at: (index) => (isBatch ? `/events/${index}` : ""),
    });
    const status = published.every(({ duplicate }) => duplicate) ? 200 : 201;
    const [first] = published;
    if (isBatch || !first) return new Reply({ data: published }, { status });
    return new Reply(first, { status, headers: { location: `/api/v1/events/${first.id}` } });
  },
});
