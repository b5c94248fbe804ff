"use client";

import { CircleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, isAbsent } from "@/lib/client/http";
import { Button } from "./button";
import { cn } from "./cn";
import { CopyButton } from "./copy-button";

/** A gray placeholder of the size of the loading content. */
export function Skeleton({ className }: { readonly className?: string }) {
  return <span aria-hidden className={cn("block animate-soft rounded-sm bg-line", className)} />;
}

interface EmptyProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly children?: ReactNode;
}

/** Shows what would be here and what to do first. */
export function Empty({ icon: Icon, title, children }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-14 text-center">
      <span className="grid size-10 place-items-center rounded-full bg-sunken text-muted">
        <Icon aria-hidden className="size-5" />
      </span>
      <h2 className="font-semibold text-lg">{title}</h2>
      <div className="flex w-full max-w-xl flex-col items-center gap-4 text-muted text-sm">{children}</div>
    </div>
  );
}

interface ProblemProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  readonly busy?: boolean;
}

/** An error with its request id and a button to retry. */
export function ProblemPanel({ error, onRetry, busy }: ProblemProps) {
  const problem = error instanceof ApiError ? error : null;
  return (
    <div role="alert" className="flex flex-col items-center gap-3 px-6 py-12 text-center">
      <span className="grid size-10 place-items-center rounded-full bg-bad-soft text-bad">
        <CircleAlert aria-hidden className="size-5" />
      </span>
      <h2 className="font-semibold text-lg">{problem?.title ?? "Something went wrong"}</h2>
      {problem?.detail ? <p className="max-w-lg text-muted text-sm">{problem.detail}</p> : null}
      {problem?.requestId ? <RequestId id={problem.requestId} /> : null}
      {onRetry ? (
        <Button onClick={onRetry} busy={busy}>
          Try again
        </Button>
      ) : null}
    </div>
  );
}

interface QueryProblemProps {
  readonly query: { readonly error: unknown; readonly isFetching: boolean; refetch(): unknown };
}

/** The error of a failed query, with a button to retry unless the object does not exist. */
export function QueryProblem({ query }: QueryProblemProps) {
  const retry = isAbsent(query.error) ? undefined : () => void query.refetch();
  return <ProblemPanel error={query.error} onRetry={retry} busy={query.isFetching} />;
}

function RequestId({ id }: { readonly id: string }) {
  return (
    <p className="flex flex-wrap items-center justify-center gap-1 text-muted text-xs">
      Request <code className="break-all font-mono">{id}</code>
      <CopyButton text={id} label="Copy request id" />
    </p>
  );
}
