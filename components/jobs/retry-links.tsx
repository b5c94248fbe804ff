"use client";

import type { ReactNode } from "react";
import { Link } from "@/components/ui/link";
import type { Job } from "@/lib/contract";
import { useTenant } from "../shell/viewer";

/** Links to the job that this one retries with another payload, and to the newest job that retries this one. */
export function RetryLinks({ job }: { readonly job: Job }) {
  if (job.retried_from_id === null && job.retried_by_id === null) return null;
  return (
    <p className="flex flex-wrap gap-x-4 text-muted text-xs">
      {job.retried_from_id ? <RetryLink id={job.retried_from_id}>Retry of</RetryLink> : null}
      {job.retried_by_id ? <RetryLink id={job.retried_by_id}>Retried as</RetryLink> : null}
    </p>
  );
}

/** A job by the end of its id: the beginnings of ids that were made together are equal. */
export function RetryLink({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const { slug } = useTenant();
  return (
    <span className="whitespace-nowrap">
      {children}{" "}
      <Link href={`/t/${slug}/jobs/${id}`} title={id} className="font-mono text-accent underline">
        …{id.slice(-12)}
      </Link>
    </span>
  );
}
