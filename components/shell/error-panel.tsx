"use client";

import { ProblemPanel } from "@/components/ui/states";

interface ErrorPanelProps {
  readonly error: Error & { readonly digest?: string };
  readonly reset: () => void;
}

/** What a page inside the frame shows when it failed: the error, a button to retry, and the reference of the logs. */
export function ErrorPanel({ error, reset }: ErrorPanelProps) {
  return (
    <div className="panel">
      <h1 className="sr-only">Something went wrong</h1>
      <ProblemPanel error={error} onRetry={reset} />
      {error.digest ? <p className="pb-6 text-center text-muted text-xs">Reference {error.digest}</p> : null}
    </div>
  );
}
