"use client";

import { Button } from "@/components/ui/button";
import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Plain } from "@/components/ui/plain";
import { formatDuration } from "@/lib/client/format";
import type { Queue } from "@/lib/contract";

interface QueueTableProps {
  readonly queues: readonly Queue[];
  readonly gone: ReadonlySet<number>;
  readonly onPause: (name: string) => void;
}

export function QueueTable({ queues, gone, onPause }: QueueTableProps) {
  return (
    <DataTable
      caption="Queues and their settings"
      columns={[...COLUMNS, pauseColumn(onPause)]}
      rows={queues}
      rowKey={({ id }) => id}
      rowClass="h-12 hover:bg-hover"
      rowAttributes={({ id }) => ({ className: gone.has(id) && "text-muted" })}
    />
  );
}

const setting = (head: string, cell: Column<Queue>["cell"]): Column<Queue> => ({
  id: head,
  head,
  from: "md",
  align: "right",
  className: "tabular text-sm",
  cell,
});

const COLUMNS: readonly Column<Queue>[] = [
  {
    id: "queue",
    head: "Queue",
    width: "w-2/5 max-md:w-3/5",
    className: "max-w-0 py-1.5",
    cell: ({ name, description }) => (
      <>
        <p className="truncate font-medium text-sm" title={name}>
          {name}
        </p>
        <p className="truncate text-muted text-xs">
          <Plain text={description} />
        </p>
      </>
    ),
  },
  { id: "state", head: "State", className: "text-sm", cell: (queue) => <State queue={queue} /> },
  setting("Priority", ({ default_priority: priority }) => priority),
  setting("Timeout", ({ timeout_seconds: timeout }) => (timeout === null ? "–" : formatDuration(timeout * 1000))),
  setting("Attempts", ({ max_attempts: attempts }) => attempts ?? "–"),
  setting("Weight", ({ weight }) => weight),
];

const pauseColumn = (onPause: (name: string) => void): Column<Queue> => ({
  id: "act",
  head: "Act",
  headHidden: true,
  width: "w-24",
  className: "text-right",
  cell: ({ name }) => (
    <Button size="sm" aria-label={`Pause ${name}`} onClick={() => onPause(name)}>
      Pause
    </Button>
  ),
});

function State({ queue }: { readonly queue: Queue }) {
  if (!queue.is_active) return <span className="text-muted">Off</span>;
  if (queue.pause === null) return <span className="text-ok">Open</span>;
  return (
    <span className="font-medium text-hold" title={queue.pause.reason}>
      Paused
    </span>
  );
}
