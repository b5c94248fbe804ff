import { decodeNumber, encodeNumber } from "@/lib/api/http/cursor";
import { notFound } from "@/lib/api/http/problem";
import { shownAttempts } from "@/lib/api/resources/shown";
import { tenantRoute } from "@/lib/api/route";
import { attemptList, attemptListQuery, jobParams, LIMITS } from "@/lib/contract";
import { listAttempts } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List the attempts of a job, latest first",
  params: jobParams,
  query: attemptListQuery,
  response: attemptList,
  handler: async ({ db, scope, params, query, runtime }) => {
    const { limit: wanted = LIMITS.pageSizeDefault, cursor, tails = false } = query;
    const limit = tails ? Math.min(wanted, LIMITS.attemptsWithTailsMax) : wanted;
    const list = { secret: runtime.config.cursorSecret, list: "attempts", tenantId: scope.tenantId, filter: params };
    const beforeNo = cursor === undefined ? undefined : decodeNumber(list, cursor);
    const page = await listAttempts(db, scope, params.jobId, { limit, beforeNo, tails });
    if (!page) throw notFound();
    const last = page.at(-1);
    const next_cursor = last?.has_older ? encodeNumber(list, last.attempt_no) : null;
    return { data: await shownAttempts(page), pagination: { limit, has_more: next_cursor !== null, next_cursor } };
  },
});
