import type * as z from "zod";
import type { createJobAction, JobActionResult, JobActionResults, jobActionResultsQuery } from "@/lib/contract";
import { LIMITS } from "@/lib/contract";
import type { BulkPosition, BulkRequest, BulkResult, JobActionPreview } from "@/lib/queue";
import { defined, jobFilter } from "./filters";
import { shownJobs } from "./shown";

/** Converts the body of a bulk action to the queue's terms. */
export function bulkRequest(body: z.output<typeof createJobAction>): BulkRequest {
  const target = body.ids === undefined ? { filter: jobFilter(body.filter ?? {}) } : { job_ids: body.ids };
  return {
    action: body.action,
    target,
    ...defined({ priority: body.priority, scheduled_for: body.scheduled_for }),
  };
}

export const shownPreview = async (preview: JobActionPreview): Promise<JobActionPreview> => ({
  ...preview,
  samples: await shownJobs(preview.samples),
});

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

/** Returns a page of results as the API answers it. */
export function resultsPage(page: { results: readonly BulkResult[]; hasMore: boolean }): JobActionResults {
  const last = page.results.at(-1)?.position;
  return {
    data: page.results.map(toResult),
    next_after: page.hasMore && last ? `${last.chunkNo}:${last.place}` : null,
  };
}

function toResult({ jobId, code }: BulkResult): JobActionResult {
  if (code === "done") return { job_id: jobId, result: "done", code: null };
  return { job_id: jobId, result: SKIPPED.includes(code) ? "skipped" : "failed", code };
}
