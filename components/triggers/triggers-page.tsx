/*
 * The Triggers page and the page of one trigger: what starts jobs automatically, what it started, and what it skipped
 * and why. Enabling, disabling and deleting apply only to the version on the screen, so no other user's edit is
 * overwritten unseen. The server computes the upcoming instants with the rules by which the trigger fires.
 *
 * Start with the page below, then `trigger-detail.tsx`, `firings.tsx` and `use-trigger-actions.tsx`. `form/` creates
 * and changes triggers, `event-test/` tests them with an event.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { Plus, SearchX } from "lucide-react";
import { useRouter } from "next/navigation";
import { parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { TotalPager } from "@/components/ui/lists/pager";
import { PageHeader } from "@/components/ui/page-header";
import { Empty } from "@/components/ui/states";
import { useSearchText } from "@/lib/client/forms/use-search-text";
import { IDLE_POLL_MS, usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { triggerKeys, triggersOptions } from "@/lib/client/triggers/triggers";
import type { Trigger } from "@/lib/contract";
import { PageLiveIndicator } from "../shell/live-indicator";
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

/** The triggers of a tenant: what starts jobs automatically, is it healthy, what fires next? */
export function TriggersPage() {
  const { slug } = useTenant();
  const [params, setParams] = useQueryStates(parsers, { history: "push" });
  const refetchInterval = usePollInterval(IDLE_POLL_MS);
  const query = useQuery({ ...triggersOptions(slug, params), refetchInterval });
  useRefresh(triggerKeys.lists(slug));
  const list = query.data;
  const latest = query.isPlaceholderData ? undefined : list?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(params), { followsOwnChanges: true });
  const { total = 0 } = list?.pagination ?? {};
  return (
    <div className="flex flex-col gap-4">
      <PageHeader title="Triggers" about="Triggers start jobs on a schedule or for an event.">
        <PageLiveIndicator />
        <NewTriggerButton />
      </PageHeader>
      <div className="flex flex-wrap items-center gap-2">
        <KindTabs chosen={params.kind} onChange={(kind) => void setParams({ kind, cursor: null })} />
        <TextFilter
          value={params.q ?? ""}
          onChange={(q) => void setParams({ q: q || null, cursor: null }, { history: "replace" })}
        />
      </div>
      <ListPanel
        label="Triggers"
        noun="trigger"
        query={query}
        rows={rows}
        waiting={params.cursor === null ? shown.waiting.length : 0}
        onShow={() => showWaiting()}
        empty={
          <Nothing
            narrowed={params.kind !== null || (params.q ?? "") !== "" || params.cursor !== null}
            onClear={() => void setParams({ kind: null, q: null, cursor: null })}
          />
        }
        footer={
          <TotalPager
            page={list}
            unit={total === 1 ? "trigger" : "triggers"}
            cursor={params.cursor}
            onTurn={(cursor) => void setParams({ cursor })}
          />
        }
      >
        <TriggerTable triggers={rows} gone={shown.gone} />
      </ListPanel>
    </div>
  );
}

function NewTriggerButton() {
  const { slug } = useTenant();
  const router = useRouter();
  const noWrite = useReason("triggers:write");
  return (
    <Button variant="primary" reason={noWrite} onClick={() => router.push(`/t/${slug}/jobs/triggers/new`)}>
      <Plus aria-hidden className="size-4" />
      New trigger
    </Button>
  );
}

interface KindTabsProps {
  readonly chosen: Trigger["trigger_type"] | null;
  readonly onChange: (kind: Trigger["trigger_type"] | null) => void;
}

function KindTabs({ chosen, onChange }: KindTabsProps) {
  return (
    <fieldset aria-label="Kind of trigger" className="flex rounded-md border border-line p-0.5">
      {TABS.map(([kind, name]) => (
        <button
          key={name}
          type="button"
          aria-pressed={chosen === kind}
          onClick={() => onChange(kind)}
          className={cn(
            "min-h-7 rounded-sm px-3 text-muted text-sm hover:text-ink max-sm:min-h-9",
            chosen === kind && "bg-line font-medium text-ink",
          )}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
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
  const [text, setText] = useSearchText(value, onChange);
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
