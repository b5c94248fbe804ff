"use client";

import type { ReactNode } from "react";
import { Link } from "@/components/ui/link";
import { useTenant } from "../shell/viewer";

interface RetryLinksProps {
  readonly retryOf?: string | null;
  readonly retriedBy: string | null;
}

/** Links to the job that this one retries with another payload, and to the newest job that retries this one. */
export function RetryLinks({ retryOf = null, retriedBy }: RetryLinksProps) {
  if (retryOf === null && retriedBy === null) return null;
  return (
    <p className="flex flex-wrap gap-x-4 text-muted text-xs">
      {retryOf ? <RetryLink id={retryOf}>Retry of</RetryLink> : null}
      {retriedBy ? <RetryLink id={retriedBy}>Retried as</RetryLink> : null}
    </p>
  );
}

/** A link to a job, shown as the end of its id, because ids created at the same time begin alike. */
export function RetryLink({ id, children }: { readonly id: string; readonly children?: ReactNode }) {
  const { slug } = useTenant();
  return (
    <span className="whitespace-nowrap">
      {children ? <>{children} </> : null}
      <Link href={`/t/${slug}/jobs/${id}`} title={id} className="font-mono text-accent underline">
        …{id.slice(-12)}
      </Link>
    </span>
  );
}
