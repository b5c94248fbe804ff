import type * as z from "zod";
import type {
  createJobAction,
  JobAction,
  JobActionFilter,
  JobActionPreview,
  JobActionResult,
  JobActionResults,
  jobActionResultsQuery,
} from "@/lib/contract";
import { LIMITS } from "@/lib/contract";
import type { BulkActionView, BulkPosition, BulkPreview, BulkRequest, BulkResult, BulkTarget } from "@/lib/queue";
import type { JobFilter } from "@/lib/queue/types";
import { dateOf, defined, jobFilter } from "./filters";
import { serializeJobRow } from "./serialize";

/** Converts the body of a bulk action to the queue's terms. */
export function bulkRequest(body: z.output<typeof createJobAction>): BulkRequest {
  const target = body.ids === undefined ? { filter: jobFilter(body.filter ?? {}) } : { job_ids: body.ids };
  return {
    action: body.action,
    target,
    ...defined({ priority: body.priority, scheduledFor: dateOf(body.scheduled_for) }),
  };
}

const relation = (isExact: boolean) => (isExact ? ("eq" as const) : ("gte" as const));

export function serializeActionPreview(request: BulkRequest, preview: BulkPreview): JobActionPreview {
  return {
    dry_run: true,
    action: request.action,
    count: preview.count,
    count_relation: relation(preview.isExact),
    samples: preview.samples.map(serializeJobRow),
  };
}

export function serializeJobAction(action: BulkActionView): JobAction {
  return {
    id: action.id,
    action: action.action,
    priority: action.priority ?? null,
    scheduled_for: action.scheduled_for?.toISOString() ?? null,
    filter: serializeTarget(action.target),
    status: action.status,
    stop_reason: action.stop_reason,
    total: action.total,
    total_relation: relation(action.total_is_exact),
    done: action.done,
    skipped: action.skipped,
    failed: action.failed,
    created_by: { kind: action.actor.kind, email: action.actor.email },
    created_at: action.created_at.toISOString(),
    started_at: action.started_at?.toISOString() ?? null,
    finished_at: action.finished_at?.toISOString() ?? null,
    abort_requested_at: action.abort_requested_at?.toISOString() ?? null,
  };
}

function serializeTarget(target: BulkTarget): Record<string, unknown> | null {
  if ("job_ids" in target) return null;
  if ("filter" in target) return serializeFilter(target.filter);
  const { status, definition_key: definitionKey, error_type: errorType } = target.dead_letters;
  return { dead_letters: defined({ status, definition_key: definitionKey, error_type: errorType }) };
}

function serializeFilter(filter: JobFilter): JobActionFilter {
  return defined({
    status: filter.status && [...filter.status],
    source: filter.source?.[0],
    queue: filter.queue,
    definition_key: filter.definition_key,
    tag: filter.tag,
    correlation_id: filter.correlation_id,
    created_after: filter.created_after?.toISOString(),
    created_before: filter.created_before?.toISOString(),
    q: filter.q,
  });
}

const SKIPPED: readonly BulkResult["code"][] = ["not-found", "state-conflict"];
const FAILED: readonly BulkResult["code"][] = [
  "invalid-value",
  "dedupe-taken",
  "definition-inactive",
  "held-by-parent",
];
const CODES = { done: ["done"], skipped: SKIPPED, failed: FAILED } as const;

interface ResultsRequest {
  readonly limit: number;
  readonly after?: BulkPosition;
  readonly codes?: readonly BulkResult["code"][];
}

/** Returns where a reader of results continues, and which results to return. */
export function resultsRequest(query: z.output<typeof jobActionResultsQuery>): ResultsRequest {
  const [chunkNo, place] = (query.after ?? "").split(":").map(Number);
  return {
    limit: query.limit ?? LIMITS.actionResultsDefault,
    ...(chunkNo !== undefined && place !== undefined ? { after: { chunkNo, place } } : {}),
    ...(query.result === undefined ? {} : { codes: CODES[query.result] }),
  };
}

export function serializeResults(page: { results: readonly BulkResult[]; hasMore: boolean }): JobActionResults {
  const last = page.results.at(-1)?.position;
  return {
    data: page.results.map(serializeResult),
    next_after: page.hasMore && last ? `${last.chunkNo}:${last.place}` : null,
  };
}

function serializeResult({ jobId, code }: BulkResult): JobActionResult {
  if (code === "done") return { job_id: jobId, result: "done", code: null };
  return { job_id: jobId, result: SKIPPED.includes(code) ? "skipped" : "failed", code };
}
