import { encodeCursor } from "@/lib/api/http/cursor";
import { listPosition } from "@/lib/api/http/list";
import { notFound } from "@/lib/api/http/problem";
import { defined } from "@/lib/api/resources/filters";
import { tenantRoute } from "@/lib/api/route";
import { firingList, firingListQuery, triggerParams } from "@/lib/contract";
import { listFirings } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "triggers:read",
  summary: "List a trigger's firings, newest first",
  params: triggerParams,
  query: firingListQuery,
  response: firingList,
  handler: async ({ db, scope, params, query, runtime }) => {
    const { limit, cursor, ...filter } = query;
    const list = {
      secret: runtime.config.cursorSecret,
      list: "firings",
      tenantId: scope.tenantId,
      filter: { ...filter, ...params },
    };
    const page = listPosition({ limit, cursor }, list);
    const found = await listFirings(db, scope, { ...params, filter: defined(filter), page });
    if (!found) throw notFound();
    const last = found.firings.at(-1);
    return {
      data: found.firings,
      pagination: {
        limit: page.limit,
        has_more: found.hasMore,
        next_cursor: found.hasMore && last ? encodeCursor(list, last.id) : null,
      },
    };
  },
});
