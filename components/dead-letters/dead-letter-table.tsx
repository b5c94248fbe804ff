"use client";

import { NotebookPen, RotateCcw } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { Plain } from "@/components/ui/plain";
import { Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { ApiError } from "@/lib/client/http";
import { useTriage } from "@/lib/client/jobs/dead-letters";
import type { DeadLetter } from "@/lib/contract";
import { TRIAGE_STATUSES } from "@/lib/queue/states";
import { messageBeforeTrace } from "../jobs/error-text";
import { type ActOnJob, useActOnJob } from "../jobs/job-actions";
import { RetryLink } from "../jobs/retry-links";
import { useReason, useTenant } from "../shell/viewer";
import { TriageDialog } from "./triage-dialog";

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";

/** The dead letters of a page; undefined while the first answer is loading. */
export function DeadLetterTable({
  letters,
  gone,
}: {
  readonly letters: readonly DeadLetter[] | undefined;
  /** Letters that no longer match the filter. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
}) {
  const actions = useActOnJob();
  const [noting, setNoting] = useState<string | null>(null);
  return (
    <>
      <table aria-busy={letters === undefined} className="w-full">
        <caption className="sr-only">Dead letters, newest job first</caption>
        <thead>
          <tr>
            <th scope="col" className={`${HEAD} sm:pl-4`}>
              Job
            </th>
            <th scope="col" className={`${HEAD} hidden w-28 text-right sm:table-cell`}>
              Failed
            </th>
            <th scope="col" className={`${HEAD} hidden w-40 sm:table-cell`}>
              Status
            </th>
            <th scope="col" className={`${HEAD} w-20`}>
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {letters?.map((letter) => (
            <LetterRow
              key={letter.id}
              letter={letter}
              gone={gone.has(letter.id)}
              actions={actions}
              onNote={setNoting}
            />
          )) ?? <Waiting />}
        </tbody>
      </table>
      {actions.question}
      {noting ? <TriageDialog id={noting} onClose={() => setNoting(null)} /> : null}
    </>
  );
}

interface LetterRowProps {
  readonly letter: DeadLetter;
  readonly gone: boolean;
  readonly actions: ActOnJob;
  readonly onNote: (id: string) => void;
}

/** The link below has the same information. */
const saysRetry = ({ note, retried_by_id: id }: DeadLetter): boolean =>
  id !== null && note === `Retried as job ${id} with another payload.`;

function LetterRow({ letter, gone, actions, onNote }: LetterRowProps) {
  const { slug } = useTenant();
  const { job } = letter;
  return (
    <tr data-job-id={letter.id} className={cn("h-16 border-line border-t hover:bg-hover", gone && "text-muted")}>
      <td className="max-w-0 px-3 py-1.5 sm:pl-4">
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
      </td>
      <td className="hidden whitespace-nowrap px-3 text-right text-muted text-sm sm:table-cell">
        {job.finished_at ? <Time value={job.finished_at} /> : null}
      </td>
      <td className="hidden px-3 sm:table-cell">
        <TriageSelect letter={letter} />
      </td>
      <td className="px-2 sm:pr-3">
        <div className="flex items-center justify-end gap-0.5">
          <Button
            variant="ghost"
            size="icon"
            aria-label={`Note and history of ${job.definition_key}`}
            title="Note and history"
            onClick={() => onNote(letter.id)}
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
            onClick={() => actions.act("retry", job)}
          >
            <RotateCcw aria-hidden className="size-3.5" />
          </Button>
        </div>
      </td>
    </tr>
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
    <select
      aria-label={`Triage status of ${letter.job.definition_key}`}
      value={letter.status}
      disabled={noUpdate !== null}
      title={noUpdate ?? undefined}
      onChange={(event) => choose(event.target.value)}
      className="field border-line"
    >
      {TRIAGE_STATUSES.map((status) => (
        <option key={status} value={status}>
          {status}
        </option>
      ))}
    </select>
  );
}

const ROWS = ["a", "b", "c", "d"];

function Waiting() {
  return ROWS.map((key) => (
    <tr key={key} className="h-16 border-line border-t">
      <td className="px-3 sm:pl-4" colSpan={4}>
        <Skeleton className="h-4 w-56 max-w-full" />
      </td>
    </tr>
  ));
}
