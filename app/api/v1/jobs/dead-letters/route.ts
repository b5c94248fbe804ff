import { listPosition, listReply } from "@/lib/api/http/list";
import { deadLetterFilter } from "@/lib/api/resources/dead-letters";
import { shownDeadLetters } from "@/lib/api/resources/shown";
import { tenantRoute } from "@/lib/api/route";
import { deadLetterList, deadLetterListQuery } from "@/lib/contract";
import { listDeadLetters } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List dead letters, newest first",
  query: deadLetterListQuery,
  response: deadLetterList,
  handler: async ({ db, scope, query, runtime, info }) => {
    const { limit, offset, cursor, ...filter } = query;
    const list = { secret: runtime.config.cursorSecret, list: "dead-letters", tenantId: scope.tenantId, filter };
    const position = listPosition({ limit, offset, cursor }, list);
    const page = await listDeadLetters(db, scope, deadLetterFilter(filter), position);
    const url = new URL(info.path + info.search, runtime.config.origin);
    return listReply({ ...page, rows: await shownDeadLetters(page.letters) }, position, { scope: list, url });
  },
});
