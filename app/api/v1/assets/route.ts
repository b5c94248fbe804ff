import { listPosition, listReply } from "@/lib/api/http/list";
import { tenantRoute } from "@/lib/api/route";
import { assetList, assetListQuery } from "@/lib/contract";
import { listAssets } from "@/lib/inventory/assets";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "assets:read",
  summary: "List the inventory of the tenant's folders",
  query: assetListQuery,
  response: assetList,
  handler: async ({ db, scope, query, runtime, info }) => {
    const { limit, offset, cursor, ...filter } = query;
    const list = { secret: runtime.config.cursorSecret, list: "assets", tenantId: scope.tenantId, filter };
    const page = listPosition({ limit, offset, cursor }, list);
    const providerId = query.provider_id;
    const found = await listAssets(db, scope.tenantId, { filter: providerId ? { providerId } : {}, page });
    const url = new URL(info.path + info.search, runtime.config.origin);
    return listReply({ ...found, rows: found.assets }, page, { scope: list, url });
  },
});
