"use client";

import { Link } from "@/components/ui/link";
import { Plain } from "@/components/ui/plain";
import { plural } from "@/lib/client/format";
import { useFirst } from "@/lib/client/use-first";
import type { EventFiring, EventRow } from "@/lib/contract";
import { StatusBadge } from "../jobs/status";
import { useTenant } from "../shell/viewer";
import { FiringBadge } from "../triggers/outcome";
import { reasonWords } from "../triggers/words";
import { nothingWords } from "./words";

const SHOWN = 3;

/**
 * Which triggers matched and the outcome of each, or why nothing started. An event that was pending at first keeps its
 * two lines afterwards, so that the events below do not move.
 */
export function EventOutcome({ event, all }: { readonly event: EventRow; readonly all?: boolean }) {
  const nothing = nothingWords(event);
  const wasPending = useFirst(event.status === "pending") === true;
  const shown = all ? event.firings : event.firings.slice(0, wasPending ? 1 : SHOWN);
  const more = event.matched_count - shown.length;
  return (
    <>
      {shown.length > 0 ? (
        <ul className="flex flex-col gap-1.5">
          {shown.map((firing) => (
            <FiringLine key={firing.id} firing={firing} />
          ))}
        </ul>
      ) : null}
      {more > 0 && shown.length > 0 ? <p className="text-muted text-xs">and {plural(more, "more trigger")}</p> : null}
      {nothing !== null && shown.length === 0 ? (
        <p className={event.reason === "loop" ? "text-sm text-warn" : "text-muted text-sm"}>
          {nothing}
          {event.reason === "no_match" ? ` (${plural(event.considered_count, "trigger")} checked)` : ""}
        </p>
      ) : null}
    </>
  );
}

function FiringLine({ firing }: { readonly firing: EventFiring }) {
  const { slug } = useTenant();
  const why = [firing.reason && reasonWords(firing.reason), firing.detail].filter(Boolean).join(": ");
  return (
    <li className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-sm">
      <Link
        href={`/t/${slug}/jobs/triggers/${firing.trigger_id}`}
        className="min-w-0 max-w-full truncate rounded-sm hover:underline"
      >
        <Plain oneLine text={firing.trigger_label} />
      </Link>
      {firing.job_id === null ? (
        <FiringBadge outcome={firing.outcome} />
      ) : (
        <Link href={`/t/${slug}/jobs/${firing.job_id}`} title={`To its ${firing.definition_key} job`}>
          {firing.outcome === "enqueued" && firing.job_status !== null ? (
            <StatusBadge status={firing.job_status} />
          ) : (
            <FiringBadge outcome={firing.outcome} />
          )}
        </Link>
      )}
      {why ? (
        <span className="min-w-0 break-words text-muted text-xs">
          <Plain text={why} />
        </span>
      ) : null}
    </li>
  );
}
