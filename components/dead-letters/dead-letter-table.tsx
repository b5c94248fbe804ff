"use client";

import { NotebookPen, RotateCcw } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Select, sameText } from "@/components/ui/forms/select";
import { Link } from "@/components/ui/link";
import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { ApiError } from "@/lib/client/http";
import { useTriage } from "@/lib/client/jobs/dead-letters";
import type { DeadLetter } from "@/lib/contract";
import { TRIAGE_STATUSES } from "@/lib/queue/states";
import { messageBeforeTrace } from "../jobs/error-text";
import { type JobActions, useJobActions } from "../jobs/job-actions";
import { RetryLink } from "../jobs/retry-links";
import { useReason, useTenant } from "../shell/viewer";
import { TriageDialog } from "./triage-dialog";

interface DeadLetterTableProps {
  /** Undefined while the first answer is loading. */
  readonly letters: readonly DeadLetter[] | undefined;
  /** Letters that no longer match the filter. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
}

/** The dead letters of a page. */
export function DeadLetterTable({ letters, gone }: DeadLetterTableProps) {
  const actions = useJobActions();
  const [noting, setNoting] = useState<string | null>(null);
  return (
    <>
      <DataTable
        caption="Dead letters, newest job first"
        columns={[...COLUMNS, actionsColumn(actions, setNoting)]}
        rows={letters}
        rowKey={({ id }) => id}
        rowClass="h-16 hover:bg-hover"
        rowAttributes={({ id }) => ({ "data-job-id": id, className: gone.has(id) && "text-muted" })}
        loading={{ rows: 4, className: "h-16" }}
      />
      {actions.question}
      {noting === null ? null : <TriageDialog id={noting} onClose={() => setNoting(null)} />}
    </>
  );
}

const COLUMNS: readonly Column<DeadLetter>[] = [
  { id: "job", head: "Job", className: "max-w-0 py-1.5", cell: (letter) => <FailedJob letter={letter} /> },
  {
    id: "failed",
    head: "Failed",
    from: "sm",
    width: "w-28",
    align: "right",
    className: "whitespace-nowrap text-muted text-sm",
    cell: ({ job }) => (job.finished_at ? <Time value={job.finished_at} /> : null),
  },
  { id: "status", head: "Status", from: "sm", width: "w-40", cell: (letter) => <TriageSelect letter={letter} /> },
];

const actionsColumn = (actions: JobActions, onNote: (id: string) => void): Column<DeadLetter> => ({
  id: "actions",
  head: "Actions",
  headHidden: true,
  width: "w-20",
  className: "px-2 sm:pr-3",
  cell: (letter) => <LetterActions letter={letter} actions={actions} onNote={onNote} />,
});

/** The link below has the same information. */
const saysRetry = ({ note, retried_by_id: id }: DeadLetter): boolean =>
  id !== null && note === `Retried as job ${id} with another payload.`;

function FailedJob({ letter }: { readonly letter: DeadLetter }) {
  const { slug } = useTenant();
  const { job } = letter;
  return (
    <>
      <Link
        href={`/t/${slug}/jobs/${letter.id}`}
        className="block truncate rounded-sm font-medium text-sm hover:underline"
      >
        {job.definition_key}
      </Link>
      <p className="truncate text-bad text-xs" title={job.error_type ?? undefined}>
        <Plain oneLine text={messageBeforeTrace(job.last_error ?? job.error_type ?? "It failed.")} />
      </p>
      {/* Always present, so that no row grows when its job is retried or gets a note. */}
      <p className="h-4 truncate text-muted text-xs">
        {letter.retried_by_id ? <RetryLink id={letter.retried_by_id}>Retried as</RetryLink> : null}
        {letter.note && !saysRetry(letter) ? (
          <>
            {letter.retried_by_id ? " · " : null}
            <Plain oneLine text={letter.note} />
          </>
        ) : null}
      </p>
      <div className="mt-1 w-40 sm:hidden">
        <TriageSelect letter={letter} />
      </div>
    </>
  );
}

interface LetterActionsProps {
  readonly letter: DeadLetter;
  readonly actions: JobActions;
  readonly onNote: (id: string) => void;
}

function LetterActions({ letter: { id, job }, actions, onNote }: LetterActionsProps) {
  return (
    <div className="flex items-center justify-end gap-0.5">
      <Button
        variant="ghost"
        size="icon"
        aria-label={`Note and history of ${job.definition_key}`}
        title="Note and history"
        onClick={() => onNote(id)}
      >
        <NotebookPen aria-hidden className="size-3.5" />
      </Button>
      <Button
        variant="ghost"
        size="icon"
        aria-label={`Put back ${job.definition_key}`}
        title="Put back"
        reason={actions.reasonAgainst("retry", job)}
        busy={actions.busyId === job.id}
        onClick={() => actions.run("retry", job)}
      >
        <RotateCcw aria-hidden className="size-3.5" />
      </Button>
    </div>
  );
}

function TriageSelect({ letter }: { readonly letter: DeadLetter }) {
  const { slug } = useTenant();
  const triage = useTriage(slug);
  const toast = useToast();
  const noUpdate = useReason("jobs:update");
  const choose = (chosen: string) => {
    const status = TRIAGE_STATUSES.find((known) => known === chosen);
    if (!status) return;
    triage.mutate(
      { id: letter.id, change: { status } },
      {
        onSuccess: () => toast({ title: `Marked as ${status}` }),
        onError: (error) => {
          const detail = error instanceof ApiError ? error.detail || error.title : error.message;
          toast({ title: "Could not update the dead letter", detail, tone: "bad" });
        },
      },
    );
  };
  return (
    <Select
      aria-label={`Triage status of ${letter.job.definition_key}`}
      options={sameText(TRIAGE_STATUSES)}
      value={letter.status}
      disabled={noUpdate !== null}
      title={noUpdate ?? undefined}
      onChoose={choose}
      className="border-line"
    />
  );
}
