/*
 * The platform's Queues page: what is paused, what is limited, and the settings of the queues. Pauses and limits stop
 * only new starts; running jobs continue. The three lists are polled once a minute and refetched after each change made
 * on this page.
 *
 * Start with the page below, then `pause-dialog.tsx` and `limit-dialog.tsx`. `use-change.ts` sends every change.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Button } from "@/components/ui/button";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { limitsOptions, pausesOptions, queuesOptions } from "@/lib/client/queues";
import { LimitDialog } from "./limit-dialog";
import { LimitTable } from "./limit-table";
import { PauseDialog, type PauseStart } from "./pause-dialog";
import { PauseList } from "./pause-list";
import { QueueTable } from "./queue-table";

/** Three lists are polled. The user's own changes are refetched at once. */
const POLL_MS = 60_000;

/** What is paused, what is limited, and how the queues are configured. */
export function QueuesPage() {
  const [pausing, setPausing] = useState<PauseStart | null>(null);
  const [limiting, setLimiting] = useState(false);
  const queues = useQuery({ ...queuesOptions(), refetchInterval: POLL_MS });
  const pauses = useQuery({ ...pausesOptions(), refetchInterval: POLL_MS });
  const limits = useQuery({ ...limitsOptions(), refetchInterval: POLL_MS });
  const known = queues.data?.data ?? [];
  return (
    <div className="flex flex-col gap-6">
      <header className="flex flex-wrap items-center gap-2">
        <h1 className="mr-auto font-semibold text-xl tracking-tight">Queues</h1>
        <Button onClick={() => setPausing({ scope: "queue", name: "" })}>Pause…</Button>
        <Button onClick={() => setLimiting(true)}>New limit</Button>
      </header>
      <Section title="Paused now" noun="pause" query={pauses}>
        {(rows, gone) => <PauseList pauses={rows} gone={gone} />}
      </Section>
      <Section title="Queues" noun="queue" query={queues}>
        {(rows, gone) => (
          <QueueTable queues={rows} gone={gone} onPause={(name) => setPausing({ scope: "queue", name })} />
        )}
      </Section>
      <Section title="Limits" noun="limit" query={limits}>
        {(rows, gone) => <LimitTable limits={rows} gone={gone} />}
      </Section>
      {pausing ? <PauseDialog start={pausing} queues={known} onClose={() => setPausing(null)} /> : null}
      {limiting ? <LimitDialog queues={known} onClose={() => setLimiting(false)} /> : null}
    </div>
  );
}

interface SectionProps<T extends { readonly id: string | number }> {
  readonly title: string;
  /** The noun for a row, in the singular. */
  readonly noun: string;
  readonly query: {
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly isFetching: boolean;
    readonly error: unknown;
    readonly data?: { readonly data: readonly T[] } | undefined;
    refetch(): unknown;
  };
  readonly children: (rows: readonly T[], gone: ReadonlySet<T["id"]>) => ReactNode;
}

function Section<T extends { readonly id: string | number }>({ title, noun, query, children }: SectionProps<T>) {
  const { rows, shown, showWaiting } = usePinnedRows(query.data?.data, title, {
    whole: true,
    followsOwnChanges: true,
    pinsEmpty: true,
  });
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <div className="flex min-h-7 items-center gap-3">
        <h2 className="font-semibold text-base">{title}</h2>
        <ShowNewest noun={noun} waiting={shown.waiting.length} onShow={() => showWaiting()} />
      </div>
      <div className="panel overflow-hidden">
        {query.isError && query.data === undefined ? (
          <QueryProblem query={query} />
        ) : query.isPending ? (
          <div className="p-4">
            <Skeleton className="h-4 w-48 max-w-full" />
          </div>
        ) : (
          children(rows ?? [], shown.gone)
        )}
      </div>
    </section>
  );
}
