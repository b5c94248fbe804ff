"use client";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useEffect } from "react";
import { Link } from "@/components/ui/link";
import { ListBar } from "@/components/ui/list-bar";
import { Pager } from "@/components/ui/pager";
import { Plain } from "@/components/ui/plain";
import { ProblemPanel, Skeleton } from "@/components/ui/states";
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
  const [place, setPlace] = useQueryStates(parsers, { history: "push" });
  const refetchInterval = usePollInterval(2 * IDLE_POLL_MS);
  const query = useQuery({ ...firingsOptions(slug, triggerId, place), refetchInterval });
  const list = query.data;
  useRefresh(triggerKeys.firings(slug, triggerId), ({ definition_key: key }) => key === definitionKey);
  useTriggerAfterFiring(triggerId, list?.data[0]?.id);
  const latest = query.isPlaceholderData ? undefined : list?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify([triggerId, place]), {
    followsOwnChanges: true,
    holdsEmpty: true,
  });
  return (
    <section aria-label="Firings" className="panel overflow-clip">
      <header className="flex flex-wrap items-center gap-2 px-4 py-2.5">
        <h2 className="flex-1 font-semibold text-base">Firings</h2>
        <select
          aria-label="Outcome"
          value={place.outcome ?? ""}
          onChange={(event) =>
            void setPlace({ outcome: OUTCOMES.find((one) => one === event.target.value) ?? null, cursor: null })
          }
          className="field w-auto border-line"
        >
          <option value="">every outcome</option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome} value={outcome}>
              {OUTCOME_WORDS[outcome].toLowerCase()}
            </option>
          ))}
        </select>
      </header>
      <div className="border-line border-t">
        <ListBar
          noun="firing"
          waiting={place.cursor === null ? shown.waiting.length : 0}
          onShow={() => showWaiting()}
          read={list !== undefined}
          staleSince={query.isError && list ? query.dataUpdatedAt : null}
          onRetry={() => void query.refetch()}
        />
      </div>
      {query.isError && !list ? (
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
      ) : rows?.length === 0 ? (
        <p className="px-4 py-6 text-muted text-sm">
          {place.outcome || place.cursor ? "None." : "It has not fired yet."}
        </p>
      ) : (
        <FiringTable firings={rows} />
      )}
      {list ? (
        <Pager
          label="Newest first"
          cursor={place.cursor}
          next={list.pagination.next_cursor}
          onTurn={(cursor) => void setPlace({ cursor })}
        />
      ) : null}
    </section>
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

const HEAD = "h-8 px-3 text-left font-medium text-muted text-xs";

function FiringTable({ firings }: { readonly firings: readonly Firing[] | undefined }) {
  return (
    <table aria-busy={firings === undefined} className="w-full">
      <caption className="sr-only">Firings, newest first</caption>
      <thead>
        <tr>
          <th scope="col" className={`${HEAD} w-36 max-sm:w-32 sm:pl-4`}>
            Outcome
          </th>
          <th scope="col" className={`${HEAD} max-sm:pl-0`}>
            Instant
          </th>
          <th scope="col" className={`${HEAD} hidden w-36 sm:table-cell`}>
            Job
          </th>
        </tr>
      </thead>
      <tbody>
        {firings?.map((firing) => <FiringRow key={firing.id} firing={firing} />) ?? (
          <tr className="h-12 border-line border-t">
            <td colSpan={3} className="px-4">
              <Skeleton className="h-4 w-56 max-w-full" />
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function FiringRow({ firing }: { readonly firing: Firing }) {
  const { slug } = useTenant();
  return (
    <tr data-firing-id={firing.id} className="border-line border-t align-top">
      <td className="px-3 py-2 sm:pl-4">
        <FiringBadge outcome={firing.outcome} />
        <div className="mt-1 h-6 sm:hidden">
          <FiredJob firing={firing} />
        </div>
      </td>
      <td className="px-3 py-2 text-sm max-sm:pl-0">
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
      </td>
      <td className="hidden px-3 py-2 text-sm sm:table-cell">
        <FiredJob firing={firing} />
      </td>
    </tr>
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
