"use client";

import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Plain } from "@/components/ui/plain";
import { formatDuration } from "@/lib/client/format";
import type { Queue } from "@/lib/contract";

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";
const NUMBER = "tabular hidden px-3 text-right text-sm md:table-cell";

interface QueueTableProps {
  readonly queues: readonly Queue[];
  readonly gone: ReadonlySet<number>;
  readonly onPause: (name: string) => void;
}

export function QueueTable({ queues, gone, onPause }: QueueTableProps) {
  return (
    <table className="w-full">
      <caption className="sr-only">Queues and their settings</caption>
      <thead>
        <tr>
          <th scope="col" className={`${HEAD} w-2/5 max-md:w-3/5 sm:pl-4`}>
            Queue
          </th>
          <th scope="col" className={HEAD}>
            State
          </th>
          {["Priority", "Timeout", "Attempts", "Weight"].map((name) => (
            <th key={name} scope="col" className={`${HEAD} hidden text-right md:table-cell`}>
              {name}
            </th>
          ))}
          <th scope="col" className={`${HEAD} w-24`}>
            <span className="sr-only">Act</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {queues.map((queue) => (
          <QueueRow key={queue.id} queue={queue} gone={gone.has(queue.id)} onPause={onPause} />
        ))}
      </tbody>
    </table>
  );
}

interface QueueRowProps extends Pick<QueueTableProps, "onPause"> {
  readonly queue: Queue;
  readonly gone: boolean;
}

function QueueRow({ queue, gone, onPause }: QueueRowProps) {
  return (
    <tr className={cn("h-12 border-line border-t hover:bg-hover", gone && "text-muted")}>
      <td className="max-w-0 px-3 py-1.5 sm:pl-4">
        <p className="truncate font-medium text-sm" title={queue.name}>
          {queue.name}
        </p>
        <p className="truncate text-muted text-xs">
          <Plain text={queue.description} />
        </p>
      </td>
      <td className="px-3 text-sm">
        <State queue={queue} />
      </td>
      <td className={NUMBER}>{queue.default_priority}</td>
      <td className={NUMBER}>{queue.timeout_seconds === null ? "–" : formatDuration(queue.timeout_seconds * 1000)}</td>
      <td className={NUMBER}>{queue.max_attempts ?? "–"}</td>
      <td className={NUMBER}>{queue.weight}</td>
      <td className="px-3 text-right">
        <Button size="sm" aria-label={`Pause ${queue.name}`} onClick={() => onPause(queue.name)}>
          Pause
        </Button>
      </td>
    </tr>
  );
}

function State({ queue }: { readonly queue: Queue }) {
  if (!queue.is_active) return <span className="text-muted">Off</span>;
  if (queue.pause === null) return <span className="text-ok">Open</span>;
  return (
    <span className="font-medium text-hold" title={queue.pause.reason}>
      Paused
    </span>
  );
}
