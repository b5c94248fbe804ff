"use client";

import { ProblemPanel } from "@/components/ui/states";

interface ErrorPageProps {
  readonly error: Error & { digest?: string };
  readonly reset: () => void;
}

export default function ErrorPage({ error, reset }: ErrorPageProps) {
  return (
    <div className="panel">
      <h1 className="sr-only">Something went wrong</h1>
      <ProblemPanel error={error} onRetry={reset} />
      {error.digest ? <p className="pb-6 text-center text-muted text-xs">Reference {error.digest}</p> : null}
    </div>
  );
}
