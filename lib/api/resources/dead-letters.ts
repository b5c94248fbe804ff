import type * as z from "zod";
import type { DeadLetterListQuery, redrive } from "@/lib/contract";
import type { BulkRequest, DeadLetterFilter } from "@/lib/queue";
import { OPEN_TRIAGE } from "@/lib/queue/states";
import { defined } from "./filters";

type FilterWords = Pick<DeadLetterListQuery, "status" | "definition_key" | "error_type">;

/** Converts a filter of dead letters to the queue's terms. */
export function deadLetterFilter(words: FilterWords): DeadLetterFilter {
  return defined({ status: words.status, definition_key: words.definition_key, error_type: words.error_type });
}

/**
 * Converts the body of a redrive to an action on many jobs. Resolved and ignored dead letters are included only on
 * request.
 */
export function redriveRequest(body: z.output<typeof redrive>): BulkRequest {
  const { status = [...OPEN_TRIAGE] } = body;
  const target =
    body.ids === undefined ? { dead_letters: deadLetterFilter({ ...body, status }) } : { job_ids: body.ids };
  return { action: "redrive", target };
}
