"use client";

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { Button } from "@/components/ui/button";
import { Link } from "@/components/ui/link";
import { useToast } from "@/components/ui/toast";
import { formatCount } from "@/lib/client/format";
import { ApiError } from "@/lib/client/http";
import { ACTION_WORDS, actionOptions, useAbortAction } from "@/lib/client/jobs/job-actions";
import type { JobAction } from "@/lib/contract";
import { useReason, useTenant } from "../shell/viewer";

/** An action that was just started, until it is dismissed: its progress, and the button to abort it. */
export function ActionProgress({ id, onDismiss }: { readonly id: string; readonly onDismiss: () => void }) {
  const { slug } = useTenant();
  const query = useQuery(actionOptions(slug, id));
  const action = query.data;
  if (!action) return null;
  return (
    <section aria-label="Action in progress" className="panel flex flex-col gap-2 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <p role="status" className="line-clamp-2 min-w-0 flex-1 basis-48 text-sm max-sm:min-h-10">
          <strong className="font-medium">{ACTION_WORDS[action.action].order}</strong>: {stateOf(action)}
        </p>
        <Link href={`/t/${slug}/jobs/actions/${id}`} className="text-accent text-sm underline">
          Details
        </Link>
        <AbortButton action={action} />
        {action.finished_at ? (
          <Button variant="ghost" size="icon" aria-label="Dismiss" onClick={onDismiss}>
            <X aria-hidden className="size-4" />
          </Button>
        ) : null}
      </div>
      <ActionMeter action={action} />
    </section>
  );
}

const came = (action: JobAction) => action.done + action.skipped + action.failed;

/** Describes an action's state in one line. */
export function stateOf(action: JobAction): string {
  const counts = [
    `${formatCount(action.done)} done`,
    action.skipped > 0 ? `${formatCount(action.skipped)} skipped` : "",
    action.failed > 0 ? `${formatCount(action.failed)} failed` : "",
  ].filter(Boolean);
  const of = action.total_relation === "eq" ? ` of ${formatCount(action.total)}` : "";
  if (action.status === "queued") return "waits for its turn";
  if (action.status === "running") return `${formatCount(came(action))}${of}: ${counts.join(", ")}`;
  const end = { done: "finished", aborted: "aborted", stopped: stopText(action.stop_reason) }[action.status];
  return `${end}: ${counts.join(", ")}`;
}

const stopText = (reason: string | null) =>
  reason === "rights-lost"
    ? "stopped, because the user or key that started it no longer has permission"
    : "stopped, because it failed again and again";

export function ActionMeter({ action }: { readonly action: JobAction }) {
  const whole = action.finished_at ? Math.max(came(action), 1) : Math.max(action.total, came(action), 1);
  return (
    <progress
      aria-label={`Progress of ${ACTION_WORDS[action.action].order}`}
      value={action.status === "done" ? whole : came(action)}
      max={whole}
      className="meter"
    />
  );
}

export function AbortButton({ action }: { readonly action: JobAction }) {
  const { slug } = useTenant();
  const toast = useToast();
  const abort = useAbortAction(slug);
  const noUpdate = useReason("jobs:update");
  if (action.finished_at !== null) return null;
  const asked = action.abort_requested_at ? "It stops after the current jobs." : null;
  const onError = (error: Error) => {
    const detail = error instanceof ApiError ? error.detail || error.title : error.message;
    toast({ title: "Could not abort it", detail, tone: "bad" });
  };
  return (
    <Button
      size="sm"
      variant="danger"
      reason={noUpdate ?? asked}
      busy={abort.isPending}
      onClick={() => abort.mutate(action.id, { onError })}
    >
      Abort
    </Button>
  );
}
