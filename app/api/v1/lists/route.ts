import { listPosition, listReply } from "@/lib/api/http/list";
import { tenantRoute } from "@/lib/api/route";
import { importedListQuery, importedLists } from "@/lib/contract";
import { listLists } from "@/lib/inventory/lists";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "assets:read",
  summary: "List the lists that import-csv filled, newest first",
  query: importedListQuery,
  response: importedLists,
  handler: async ({ db, scope, query, runtime, info }) => {
    const list = { secret: runtime.config.cursorSecret, list: "lists", tenantId: scope.tenantId, filter: {} };
    const page = listPosition(query, list);
    const found = await listLists(db, scope.tenantId, page);
    const url = new URL(info.path + info.search, runtime.config.origin);
    return listReply({ ...found, rows: found.lists }, page, { scope: list, url });
  },
});
