"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { BackLink } from "@/components/ui/back-link";
import { FilterSelect, sameText } from "@/components/ui/forms/select";
import { Link } from "@/components/ui/link";
import { FROM_FIRST, Pager } from "@/components/ui/lists/pager";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { ACTION_WORDS, actionOptions, actionResultsOptions } from "@/lib/client/jobs/job-actions";
import type { JobAction, JobActionResult } from "@/lib/contract";
import { BULK_RESULTS } from "@/lib/queue/states";
import { useTenant } from "../shell/viewer";
import { ActionFilter } from "./action-filter";
import { AbortButton, ActionMeter, stateOf } from "./action-progress";

const CODES: Readonly<Record<string, string>> = {
  "state-conflict": "Its status does not allow this action.",
  "not-found": "Job not found.",
  "dedupe-taken": "Another job holds its dedupe key.",
  "definition-inactive": "Its definition is disabled.",
  "held-by-parent": "Its parent did not succeed. Retry the parent first.",
  "invalid-value": "It would expire before the new time.",
};

/** One action on many jobs: its progress, its jobs, and the result for each. */
export function ActionDetail({ id }: { readonly id: string }) {
  const { slug } = useTenant();
  const query = useQuery(actionOptions(slug, id));
  const action = query.data;
  return (
    <div className="flex flex-col gap-4">
      <BackLink href={`/t/${slug}/jobs/actions`}>Bulk actions</BackLink>
      {query.isError && !action ? (
        <div className="panel">
          <QueryProblem query={query} />
        </div>
      ) : null}
      {action ? <Loaded action={action} slug={slug} /> : query.isPending ? <Skeleton className="h-24 w-full" /> : null}
    </div>
  );
}

function Loaded({ action, slug }: { readonly action: JobAction; readonly slug: string }) {
  return (
    <>
      <header className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-64">
          <h1 className="font-semibold text-xl tracking-tight">
            <Title action={action} />
          </h1>
          <p className="text-muted text-sm">
            {action.created_by.email ? `By ${action.created_by.email}, ` : ""}
            <Time value={action.created_at} kind="absolute" />
          </p>
        </div>
        <AbortButton action={action} />
      </header>
      <section aria-label="Progress" className="panel flex flex-col gap-2 px-4 py-3">
        <p role="status" className="text-sm">
          {stateOf(action)}
        </p>
        <ActionMeter action={action} />
        <p className="h-4 text-muted text-xs">
          {action.finished_at ? (
            <>
              Ended <Time value={action.finished_at} kind="absolute" />
            </>
          ) : null}
        </p>
      </section>
      {action.filter ? <ActionFilter filter={action.filter} /> : null}
      <Results action={action} slug={slug} />
    </>
  );
}

function Title({ action: { action, priority, scheduled_for: instant } }: { readonly action: JobAction }) {
  const { order } = ACTION_WORDS[action];
  if (priority !== null) return `${order} to ${priority}`;
  if (instant === null) return order;
  return (
    <>
      {order} to <Time value={instant} kind="absolute" />
    </>
  );
}

function Results({ action, slug }: { readonly action: JobAction; readonly slug: string }) {
  const [params, setParams] = useQueryStates(
    { result: parseAsStringLiteral(BULK_RESULTS), after: parseAsString },
    { history: "push" },
  );
  const isOver = action.finished_at !== null;
  const query = useQuery({
    ...actionResultsOptions(slug, action.id, params, isOver),
    placeholderData: keepPreviousData,
  });
  const rows = query.data?.data;
  return (
    <section aria-label="Jobs" className="panel overflow-hidden">
      <header className="flex items-center gap-3 border-line border-b px-4 py-2">
        <h2 className="flex-1 font-medium text-sm">Result for each job</h2>
        <FilterSelect
          aria-label="Result"
          any="Every result"
          options={sameText(BULK_RESULTS)}
          value={params.result ?? ""}
          onChoose={(chosen) =>
            void setParams({ result: BULK_RESULTS.find((one) => one === chosen) ?? null, after: null })
          }
        />
      </header>
      {query.isError && !rows ? <QueryProblem query={query} /> : null}
      {rows?.length === 0 ? (
        <p className="px-4 py-6 text-center text-muted text-sm">{isOver ? "None." : "None so far."}</p>
      ) : (
        <ul className="divide-y divide-line">
          {rows?.map((row) => (
            <ResultRow key={row.job_id} row={row} slug={slug} />
          ))}
        </ul>
      )}
      {params.after !== null || query.data?.next_after ? (
        <Pager
          inPlace
          words={FROM_FIRST}
          cursor={params.after}
          next={query.data?.next_after ?? null}
          onTurn={(after) => void setParams({ after })}
        />
      ) : null}
    </section>
  );
}

const TONES = { done: "text-ok", skipped: "text-muted", failed: "text-bad" } as const;

function ResultRow({ row, slug }: { readonly row: JobActionResult; readonly slug: string }) {
  return (
    <li className="flex min-h-10 flex-wrap items-center gap-x-3 px-4 py-1.5 text-sm">
      <span className={`w-16 ${TONES[row.result]}`}>{row.result}</span>
      <Link href={`/t/${slug}/jobs/${row.job_id}`} className="break-all font-mono text-accent text-xs underline">
        {row.job_id}
      </Link>
      {row.code ? <span className="text-muted text-xs">{CODES[row.code] ?? row.code}</span> : null}
    </li>
  );
}
