"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useEffect } from "react";
import { FilterSelect } from "@/components/ui/forms/select";
import { Link } from "@/components/ui/link";
import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { Pager } from "@/components/ui/lists/pager";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { plural } from "@/lib/client/format";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { firingsOptions, triggerKeys } from "@/lib/client/triggers/triggers";
import { useFirst } from "@/lib/client/use-first";
import type { Firing } from "@/lib/contract";
import type { FiringOutcome } from "@/lib/queue/states";
import { StatusBadge } from "../jobs/status";
import { useTenant } from "../shell/viewer";
import { FiringBadge } from "./outcome";
import { OUTCOME_WORDS, reasonWords } from "./words";

const OUTCOMES = Object.keys(OUTCOME_WORDS) as FiringOutcome[];
const parsers = { outcome: parseAsStringLiteral(OUTCOMES), cursor: parseAsString };

/** The outcome of each instant, event and run of a trigger; skipped ones are shown with the reason. */
export function Firings({ triggerId, definitionKey }: { readonly triggerId: string; readonly definitionKey: string }) {
  const { slug } = useTenant();
  const [params, setParams] = useQueryStates(parsers, { history: "push" });
  const refetchInterval = usePollInterval(2 * IDLE_POLL_MS);
  const query = useQuery({ ...firingsOptions(slug, triggerId, params), refetchInterval });
  const list = query.data;
  useRefresh(triggerKeys.firings(slug, triggerId), ({ definition_key: key }) => key === definitionKey);
  useTriggerAfterFiring(triggerId, list?.data[0]?.id);
  const latest = query.isPlaceholderData ? undefined : list?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify([triggerId, params]), {
    followsOwnChanges: true,
    pinsEmpty: true,
  });
  return (
    <ListPanel
      label="Firings"
      noun="firing"
      query={query}
      rows={rows}
      waiting={params.cursor === null ? shown.waiting.length : 0}
      onShow={() => showWaiting()}
      head={<OutcomeFilter chosen={params.outcome} onChange={(outcome) => void setParams({ outcome, cursor: null })} />}
      empty={
        <p className="px-4 py-6 text-muted text-sm">
          {params.outcome || params.cursor ? "None." : "It has not fired yet."}
        </p>
      }
      footer={
        list ? (
          <Pager
            label="Newest first"
            cursor={params.cursor}
            next={list.pagination.next_cursor}
            onTurn={(cursor) => void setParams({ cursor })}
          />
        ) : null
      }
    >
      <DataTable
        caption="Firings, newest first"
        columns={COLUMNS}
        rows={rows}
        rowKey={({ id }) => id}
        rowClass="align-top"
        rowAttributes={({ id }) => ({ "data-firing-id": id })}
        loading={{ rows: 1, className: "h-12" }}
        headClass="h-8"
      />
    </ListPanel>
  );
}

interface OutcomeFilterProps {
  readonly chosen: FiringOutcome | null;
  readonly onChange: (outcome: FiringOutcome | null) => void;
}

function OutcomeFilter({ chosen, onChange }: OutcomeFilterProps) {
  return (
    <header className="flex flex-wrap items-center gap-2 px-4 py-2.5">
      <h2 className="flex-1 font-semibold text-base">Firings</h2>
      <FilterSelect
        aria-label="Outcome"
        any="every outcome"
        options={OUTCOMES.map((outcome) => [outcome, OUTCOME_WORDS[outcome].toLowerCase()] as const)}
        value={chosen ?? ""}
        onChoose={(value) => onChange(OUTCOMES.find((one) => one === value) ?? null)}
      />
    </header>
  );
}

/** Firing changes the trigger itself, so it is refetched once its list of firings has a new one. */
function useTriggerAfterFiring(triggerId: string, newest: string | undefined): void {
  const { slug } = useTenant();
  const client = useQueryClient();
  const first = useFirst(newest);
  useEffect(() => {
    if (newest !== undefined && newest !== first)
      void client.invalidateQueries({ queryKey: triggerKeys.one(slug, triggerId), exact: true });
  }, [client, slug, triggerId, first, newest]);
}

const COLUMNS: readonly Column<Firing>[] = [
  {
    id: "outcome",
    head: "Outcome",
    width: "w-36 max-sm:w-32",
    className: "py-2",
    cell: (firing) => (
      <>
        <FiringBadge outcome={firing.outcome} />
        <div className="mt-1 h-6 sm:hidden">
          <FiredJob firing={firing} />
        </div>
      </>
    ),
  },
  {
    id: "instant",
    head: "Instant",
    width: "max-sm:pl-0",
    className: "py-2 text-sm max-sm:pl-0",
    cell: (firing) => <Instant firing={firing} />,
  },
  {
    id: "job",
    head: "Job",
    from: "sm",
    width: "w-36",
    className: "py-2 text-sm",
    cell: (firing) => <FiredJob firing={firing} />,
  },
];

function Instant({ firing }: { readonly firing: Firing }) {
  const { slug } = useTenant();
  return (
    <>
      <p className="max-sm:text-xs">
        <Time value={firing.fire_at} kind="absolute" />
        {firing.until ? (
          <>
            {" to "}
            <Time value={firing.until} kind="absolute" />
          </>
        ) : null}
      </p>
      <p className="min-h-4 break-words text-muted text-xs">
        <Explanation firing={firing} slug={slug} />
      </p>
    </>
  );
}

function FiredJob({ firing: { job_id: id, job_status: status } }: { readonly firing: Firing }) {
  const { slug } = useTenant();
  if (id === null) return <span className="text-muted">–</span>;
  return (
    <Link href={`/t/${slug}/jobs/${id}`} className="rounded-full text-accent text-sm underline">
      {status === null ? "to the job" : <StatusBadge status={status} />}
    </Link>
  );
}

function Explanation({ firing, slug }: { readonly firing: Firing; readonly slug: string }) {
  const parts = [
    firing.kind === "manual" ? "manual run" : null,
    firing.n > 1 ? `${plural(firing.n, "instant")}` : null,
    firing.is_catch_up ? "caught up later" : null,
    firing.reason === null ? null : reasonWords(firing.reason),
    firing.detail,
    firing.note,
  ].filter((part) => part !== null);
  return (
    <>
      <Plain text={parts.join(" · ")} />
      {firing.event_id ? (
        <>
          {parts.length > 0 ? " · " : null}
          <Link href={`/t/${slug}/jobs/events?event=${firing.event_id}`} className="text-accent underline">
            its event
          </Link>
        </>
      ) : null}
    </>
  );
}
