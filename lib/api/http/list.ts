import { LIMITS, type Pagination } from "@/lib/contract";
import { type CursorScope, decodeCursor, encodeCursor } from "./cursor";
import { HttpProblem } from "./problem";
import { Reply } from "./respond";

export interface ListRequest {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface ListPosition {
  readonly limit: number;
  readonly offset?: number;
  readonly afterId?: string;
}

/** Returns where a list request starts. `offset` together with `cursor` answers 400. */
export function listPosition(request: ListRequest, scope: CursorScope): ListPosition {
  const limit = request.limit ?? LIMITS.pageSizeDefault;
  if (request.cursor === undefined) return request.offset === undefined ? { limit } : { limit, offset: request.offset };
  if (request.offset !== undefined)
    throw new HttpProblem("invalid-query", { detail: "Send offset or cursor, not both." });
  return { limit, afterId: decodeCursor(scope, request.cursor) };
}

interface FoundPage<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

/** Returns a page with its pagination, and a Link header to the next page. */
export function listReply<T extends { id: string }>(
  page: FoundPage<T>,
  position: ListPosition,
  at: { scope: CursorScope; url: URL },
): Reply<{ data: T[]; pagination: Pagination }> {
  const last = page.rows.at(-1);
  const nextCursor = page.hasMore && last ? encodeCursor(at.scope, last.id) : null;
  const pagination = {
    limit: position.limit,
    offset: position.offset ?? 0,
    total: page.total,
    total_relation: page.totalRelation,
    has_more: page.hasMore,
    next_cursor: nextCursor,
  };
  return new Reply(
    { data: [...page.rows], pagination },
    nextCursor ? { headers: { link: nextLink(at.url, nextCursor) } } : {},
  );
}

function nextLink(url: URL, cursor: string): string {
  const next = new URL(url);
  next.searchParams.delete("offset");
  next.searchParams.set("cursor", cursor);
  return `<${next.href}>; rel="next"`;
}
