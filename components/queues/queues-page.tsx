"use client";

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Button } from "@/components/ui/button";
import { ProblemPanel, Skeleton } from "@/components/ui/states";
import { limitsOptions, pausesOptions, queuesOptions } from "@/lib/client/queues";
import { LimitDialog } from "./limit-dialog";
import { LimitTable } from "./limit-table";
import { PauseDialog, type PauseStart } from "./pause-dialog";
import { PauseList } from "./pause-list";
import { QueueTable } from "./queue-table";

/** Three lists are polled. A change that is made here is read again at once. */
const POLL_MS = 60_000;

/** What is paused, what is limited, and how the queues are set up. */
export function QueuesPage() {
  const [pausing, setPausing] = useState<PauseStart | null>(null);
  const [limiting, setLimiting] = useState(false);
  const queues = useQuery({ ...queuesOptions(), refetchInterval: POLL_MS });
  const pauses = useQuery({ ...pausesOptions(), refetchInterval: POLL_MS });
  const limits = useQuery({ ...limitsOptions(), refetchInterval: POLL_MS });
  return (
    <div className="flex flex-col gap-6">
      <header className="flex flex-wrap items-center gap-2">
        <h1 className="mr-auto font-semibold text-xl tracking-tight">Queues</h1>
        <Button onClick={() => setPausing({ scope: "queue", name: "" })}>Pause …</Button>
        <Button onClick={() => setLimiting(true)}>New limit</Button>
      </header>
      <Section title="Paused now" query={pauses}>
        <PauseList pauses={pauses.data?.data ?? []} />
      </Section>
      <Section title="Queues" query={queues}>
        <QueueTable queues={queues.data?.data ?? []} onPause={(name) => setPausing({ scope: "queue", name })} />
      </Section>
      <Section title="Limits" query={limits}>
        <LimitTable limits={limits.data?.data ?? []} />
      </Section>
      <PauseDialog start={pausing} onClose={() => setPausing(null)} />
      <LimitDialog open={limiting} onClose={() => setLimiting(false)} />
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly query: {
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly isFetching: boolean;
    readonly error: unknown;
    readonly data?: unknown;
    refetch(): unknown;
  };
  readonly children: ReactNode;
}

function Section({ title, query, children }: SectionProps) {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h2 className="font-semibold text-base">{title}</h2>
      <div className="panel overflow-hidden">
        {query.isError && query.data === undefined ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : query.isPending ? (
          <div className="p-4">
            <Skeleton className="h-4 w-48 max-w-full" />
          </div>
        ) : (
          children
        )}
      </div>
    </section>
  );
}
