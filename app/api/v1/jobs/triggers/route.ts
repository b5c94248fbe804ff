import { etagOf } from "@/lib/api/http/etag";
import { listPosition, listReply } from "@/lib/api/http/list";
import { Reply } from "@/lib/api/http/respond";
import { defined } from "@/lib/api/resources/filters";
import { triggerInput } from "@/lib/api/resources/triggers";
import { tenantRoute } from "@/lib/api/route";
import { createTriggerBody as createBody, trigger, triggerList, triggerListQuery } from "@/lib/contract";
import { createTrigger, listTriggers } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "triggers:read",
  summary: "List triggers, newest first, with the next run and the latest firings",
  query: triggerListQuery,
  response: triggerList,
  handler: async ({ db, scope, query, runtime, info }) => {
    const { limit, offset, cursor, ...filter } = query;
    const list = { secret: runtime.config.cursorSecret, list: "triggers", tenantId: scope.tenantId, filter };
    const position = listPosition({ limit, offset, cursor }, list);
    const page = await listTriggers(db, scope, defined(filter), position);
    const url = new URL(info.path + info.search, runtime.config.origin);
    return listReply({ ...page, rows: page.triggers }, position, { scope: list, url });
  },
});

export const POST = tenantRoute({
  permission: "triggers:write",
  summary: "Create a trigger on an event or a schedule",
  body: createBody,
  response: trigger,
  status: 201,
  etag: true,
  handler: async ({ db, scope, body }) => {
    const made = await createTrigger(db, scope, triggerInput(body));
    const headers = { location: `/api/v1/jobs/triggers/${made.id}`, ...etagOf(made) };
    return new Reply(made, { status: 201, headers });
  },
});
