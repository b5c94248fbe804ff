import type * as z from "zod";
import type { DeadLetter, DeadLetterListQuery, JobEvent, redrive } from "@/lib/contract";
import type { BulkRequest, DeadLetterFilter, DeadLetterView, JobEvent as JobEventView } from "@/lib/queue";
import { OPEN_TRIAGE } from "@/lib/queue/states";
import { mapInTurns } from "@/lib/turns";
import { defined } from "./filters";
import { serializeJobRow } from "./serialize";

type FilterWords = Pick<DeadLetterListQuery, "status" | "definition_key" | "error_type">;

/** Converts a filter of dead letters to the queue's terms. */
export function deadLetterFilter(words: FilterWords): DeadLetterFilter {
  return defined({ status: words.status, definitionKey: words.definition_key, errorType: words.error_type });
}

/**
 * Converts the body of a redrive to an action on many jobs. Resolved and ignored dead letters are included only on
 * request.
 */
export function redriveRequest(body: z.output<typeof redrive>): BulkRequest {
  const { status = [...OPEN_TRIAGE] } = body;
  const target = body.ids === undefined ? { dead_letters: deadLetterFilter({ ...body, status }) } : { job_ids: body.ids };
  return { action: "redrive", target };
}

export function serializeDeadLetter(letter: DeadLetterView): DeadLetter {
  return {
    id: letter.job.id,
    status: letter.status,
    note: letter.note,
    changed_at: letter.changed_at?.toISOString() ?? null,
    changed_by: letter.changed_by,
    retried_by_id: letter.retried_by_id,
    job: serializeJobRow(letter.job),
  };
}

/** Serializes a list of dead letters in turns, because their errors are masked. */
export const serializeDeadLetters = (letters: readonly DeadLetterView[]): Promise<DeadLetter[]> =>
  mapInTurns(letters, serializeDeadLetter);

export function serializeJobEvent(event: JobEventView): JobEvent {
  return {
    at: event.at.toISOString(),
    action: event.action,
    from_status: event.from_status,
    to_status: event.to_status,
    note: event.note,
    actor_kind: event.actor_kind,
    actor: event.actor,
  };
}
