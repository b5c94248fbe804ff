"use client";

import { Link } from "@/components/ui/link";
import { Plain } from "@/components/ui/plain";
import type { Job } from "@/lib/contract";
import { useTenant } from "../shell/viewer";

/** Returns true if the job's source has a page. */
export const hasSourcePage = ({ source, source_ref: ref }: Job): boolean =>
  ref !== null && (source === "schedule" || source === "event");

/** The source of a job: a link to a trigger's schedule or to an event, otherwise its name. */
export function JobSourceLine({ job }: { readonly job: Job }) {
  const { slug } = useTenant();
  const { source, source_ref: ref } = job;
  if (ref === null) return source;
  if (!hasSourcePage(job)) {
    return (
      <>
        {source}{" "}
        <span className="text-muted">
          <Plain text={ref} />
        </span>
      </>
    );
  }
  const href =
    source === "schedule"
      ? `/t/${slug}/jobs/triggers/${encodeURIComponent(ref)}`
      : `/t/${slug}/jobs/events?event=${encodeURIComponent(ref)}`;
  return (
    <Link href={href} className="text-accent underline">
      {source === "schedule" ? "a schedule" : "an event"}
    </Link>
  );
}
