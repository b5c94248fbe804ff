"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus, SearchX } from "lucide-react";
import { useRouter } from "next/navigation";
import { parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useEffect, useState } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { ListBar } from "@/components/ui/list-bar";
import { Pager } from "@/components/ui/pager";
import { Empty, ProblemPanel } from "@/components/ui/states";
import { formatCount } from "@/lib/client/format";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { triggerKeys, triggersOptions } from "@/lib/client/triggers/triggers";
import type { TriggerList } from "@/lib/contract";
import { LiveIndicator } from "../shell/live-indicator";
import { useReason, useTenant } from "../shell/viewer";
import { FirstTrigger } from "./first-trigger";
import { TriggerTable } from "./trigger-table";

const parsers = {
  kind: parseAsStringLiteral(["event", "schedule"] as const),
  q: parseAsString,
  cursor: parseAsString,
};
const TABS = [
  [null, "All"],
  ["event", "Event"],
  ["schedule", "Schedule"],
] as const;
const TYPING_PAUSE_MS = 250;

/** The triggers of a tenant: what starts jobs automatically, is it healthy, what fires next? */
export function TriggersPage() {
  const { slug } = useTenant();
  const router = useRouter();
  const noWrite = useReason("triggers:write");
  const [place, setPlace] = useQueryStates(parsers, { history: "push" });
  const refetchInterval = usePollInterval(IDLE_POLL_MS);
  const query = useQuery({ ...triggersOptions(slug, place), refetchInterval });
  useRefresh(triggerKeys.lists(slug));
  const list = query.data;
  const latest = query.isPlaceholderData ? undefined : list?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(place), { followsOwnChanges: true });
  const narrowed = place.kind !== null || (place.q ?? "") !== "" || place.cursor !== null;
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-56">
          <h1 className="font-semibold text-xl tracking-tight">Triggers</h1>
          <p className="text-muted text-sm">Triggers start jobs on a schedule or for an event.</p>
        </div>
        <span className="hidden lg:block">
          <LiveIndicator />
        </span>
        <Button variant="primary" reason={noWrite} onClick={() => router.push(`/t/${slug}/jobs/triggers/new`)}>
          <Plus aria-hidden className="size-4" />
          New trigger
        </Button>
      </header>
      <div className="flex flex-wrap items-center gap-2">
        <fieldset aria-label="Kind of trigger" className="flex rounded-md border border-line p-0.5">
          {TABS.map(([kind, name]) => (
            <button
              key={name}
              type="button"
              aria-pressed={place.kind === kind}
              onClick={() => void setPlace({ kind, cursor: null })}
              className={cn(
                "min-h-7 rounded-sm px-3 text-muted text-sm hover:text-ink max-sm:min-h-9",
                place.kind === kind && "bg-line font-medium text-ink",
              )}
            >
              {name}
            </button>
          ))}
        </fieldset>
        <TextFilter
          value={place.q ?? ""}
          onChange={(q) => void setPlace({ q: q || null, cursor: null }, { history: "replace" })}
        />
      </div>
      <section aria-label="Triggers" className="panel overflow-clip">
        <ListBar
          noun="trigger"
          waiting={place.cursor === null ? shown.waiting.length : 0}
          onShow={() => showWaiting()}
          read={list !== undefined}
          staleSince={query.isError && list ? query.dataUpdatedAt : null}
          onRetry={() => void query.refetch()}
        />
        {query.isError && !list ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : rows?.length === 0 ? (
          <Nothing narrowed={narrowed} onClear={() => void setPlace({ kind: null, q: null, cursor: null })} />
        ) : (
          <TriggerTable triggers={rows} gone={shown.gone} />
        )}
        {list && list.data.length > 0 ? (
          <Pager
            label={countOf(list)}
            cursor={place.cursor}
            next={list.pagination.next_cursor}
            onTurn={(cursor) => void setPlace({ cursor })}
          />
        ) : null}
      </section>
    </div>
  );
}

function countOf({ pagination: { total, total_relation: relation } }: TriggerList): string {
  return `${relation === "gte" ? "more than " : ""}${formatCount(total)} ${total === 1 ? "trigger" : "triggers"}`;
}

function Nothing({ narrowed, onClear }: { readonly narrowed: boolean; readonly onClear: () => void }) {
  if (!narrowed) return <FirstTrigger />;
  return (
    <Empty icon={SearchX} title="No trigger matches">
      <Button onClick={onClear}>Show all</Button>
    </Empty>
  );
}

function TextFilter({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => onChange(text.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <input
      type="search"
      aria-label="Name, event or definition"
      placeholder="Name, event or definition"
      maxLength={128}
      value={text}
      onChange={(event) => setText(event.target.value)}
      className="field w-full sm:w-64"
    />
  );
}
