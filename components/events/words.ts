import type { EventRow } from "@/lib/contract";

/** Why an event started nothing. */
const NOTHING: Readonly<Record<NonNullable<EventRow["reason"]>, string>> = {
  no_trigger: "No enabled trigger listens to this name",
  no_match: "No trigger matched",
  loop: "Not started: the chain of events and jobs is too deep",
  suspended: "Not started: the tenant is suspended",
  failed: "Matching triggers could not start a job",
};

export const SOURCE_WORDS: Readonly<Record<EventRow["source"], string>> = {
  api: "API",
  app: "this app",
  job: "a job",
  scheduler: "the scheduler",
};

/** Returns why an event started nothing, or that it is still pending; null when it started something. */
export function nothingWords({ status, reason, started_count: started }: EventRow): string | null {
  if (status === "pending") return "Waiting for its triggers…";
  if (reason !== null) return NOTHING[reason];
  return started === 0 ? "No new job was started" : null;
}
