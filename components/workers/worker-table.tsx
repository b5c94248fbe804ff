"use client";

import { CircleCheck, CircleDot, CircleOff, Clock, LogOut, type LucideIcon, TriangleAlert } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { Plain } from "@/components/ui/plain";
import { Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useNow } from "@/lib/client/clock";
import { formatAge, formatBytes, plural } from "@/lib/client/format";
import type { Worker, WorkerList } from "@/lib/contract";
import type { WorkerStatus } from "@/lib/queue/states";

const LOOKS: Readonly<Record<WorkerStatus, { label: string; icon: LucideIcon; className: string }>> = {
  live: { label: "Live", icon: CircleCheck, className: "text-ok bg-ok-soft" },
  late: { label: "Late", icon: Clock, className: "text-warn bg-warn-soft" },
  stale: { label: "Stale", icon: TriangleAlert, className: "text-bad bg-bad-soft" },
  dead: { label: "Dead", icon: CircleOff, className: "text-bad bg-bad-soft" },
  draining: { label: "Draining", icon: LogOut, className: "text-info bg-info-soft" },
  stopped: { label: "Stopped", icon: CircleDot, className: "text-hold bg-hold-soft" },
};

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";

export function WorkerTable({
  list,
  gone,
}: {
  readonly list: (Omit<WorkerList, "data"> & { readonly data: readonly Worker[] }) | undefined;
  /** Workers that are no longer listed. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
}) {
  const received = list ? Date.parse(list.as_of) : 0;
  return (
    <table aria-busy={list === undefined} className="w-full">
      <caption className="sr-only">Workers</caption>
      <thead>
        <tr>
          <th scope="col" className={`${HEAD} w-28 max-sm:w-24 sm:pl-4`}>
            Status
          </th>
          <th scope="col" className={HEAD}>
            Worker
          </th>
          <th scope="col" className={`${HEAD} w-32 max-sm:w-28`}>
            Heartbeat
          </th>
          <th scope="col" className={`${HEAD} hidden w-24 text-right sm:table-cell`}>
            Running
          </th>
          <th scope="col" className={`${HEAD} hidden w-36 lg:table-cell`}>
            Queues
          </th>
          <th scope="col" className={`${HEAD} hidden w-44 text-right md:table-cell`}>
            Process
          </th>
          <th scope="col" className={`${HEAD} hidden w-28 text-right lg:table-cell`}>
            Up since
          </th>
        </tr>
      </thead>
      <tbody>
        {list?.data.map((worker) => (
          <WorkerRow
            key={worker.worker_id}
            worker={worker}
            gone={gone.has(worker.worker_id)}
            thresholds={list.thresholds}
            asOf={received}
          />
        )) ?? <Waiting />}
      </tbody>
    </table>
  );
}

interface WorkerRowProps {
  readonly worker: Worker;
  readonly gone: boolean;
  readonly thresholds: WorkerList["thresholds"];
  readonly asOf: number;
}

function WorkerRow({ worker, gone: unlisted, thresholds, asOf }: WorkerRowProps) {
  const age = useAge(worker, asOf);
  const status = statusAt(worker, age, thresholds);
  const { label, icon: Icon, className } = LOOKS[status];
  const stopped = status === "stopped";
  // Its last report is outdated, because its jobs are elsewhere.
  const gone = stopped || status === "dead";
  const running = gone ? 0 : worker.running_count;
  return (
    <tr className={cn("h-14 border-line md:h-18 border-t hover:bg-hover", (stopped || unlisted) && "text-muted")}>
      <td className="px-3 sm:pl-4">
        <span
          className={cn(
            "inline-flex h-5.5 items-center gap-1.5 rounded-full pr-2.5 pl-2 font-medium text-xs",
            className,
          )}
        >
          <Icon aria-hidden className="size-3" />
          {label}
        </span>
      </td>
      <td className="max-w-0 px-3">
        <p className="truncate font-medium text-sm">
          <Plain text={worker.label || `${worker.hostname}:${worker.pid}`} />
          <span className="font-normal text-muted"> {worker.version}</span>
          {worker.tz_version ? <span className="font-normal text-muted"> · tz {worker.tz_version}</span> : null}
        </p>
        <p className="truncate font-mono text-muted text-xs" title={worker.worker_id}>
          {worker.worker_id}
        </p>
        <p className="hidden truncate text-muted text-xs md:block" title="Isolation of commands">
          {worker.isolation}
        </p>
      </td>
      <td className="tabular whitespace-nowrap px-3 text-sm">
        <span className={cn((status === "stale" || status === "dead") && "font-medium text-bad")}>
          {formatAge(age)} ago
        </span>
        <span className="block text-muted text-xs">{stopped ? "clean stop" : nextMark(age, thresholds)}</span>
      </td>
      <td className="tabular hidden px-3 text-right text-sm sm:table-cell">
        {running}
        <span className="text-muted"> of {worker.capacity}</span>
        <progress
          aria-label={`Slots of ${worker.label || worker.worker_id} in use`}
          value={running}
          max={Math.max(worker.capacity, 1)}
          className="meter mt-1"
        />
      </td>
      <td
        className="hidden max-w-0 truncate px-3 text-muted text-sm lg:table-cell"
        title={worker.definitions.join(", ")}
      >
        {worker.queues.join(", ") || "all"}
        <span className="block truncate text-xs">
          {worker.definitions.length > 0 ? plural(worker.definitions.length, "definition") : "every definition"}
        </span>
      </td>
      <td className="tabular hidden whitespace-nowrap px-3 text-right text-sm md:table-cell">
        {worker.rss_bytes === null ? "–" : formatBytes(worker.rss_bytes)}
        <span className="block text-muted text-xs">
          {gone || worker.cpu_percent === null ? "" : `${worker.cpu_percent.toFixed(0)} % CPU`}
          {gone || worker.event_loop_lag_ms === null ? "" : ` · ${worker.event_loop_lag_ms.toFixed(0)} ms lag`}
        </span>
      </td>
      <td className="hidden px-3 text-right text-muted text-sm lg:table-cell">
        <Time value={worker.started_at} />
      </td>
    </tr>
  );
}

/** Returns the seconds since the heartbeat: the server's value plus the time passed in this browser. */
function useAge(worker: Worker, asOf: number): number {
  const now = useNow();
  return worker.age_seconds + Math.max(0, (now - asOf) / 1000);
}

function statusAt(worker: Worker, age: number, thresholds: WorkerList["thresholds"]): WorkerStatus {
  if (worker.status === "stopped") return "stopped";
  if (age > thresholds.dead_seconds) return "dead";
  if (age > thresholds.stale_seconds) return "stale";
  if (worker.status === "draining") return "draining";
  return age > thresholds.late_seconds ? "late" : "live";
}

function nextMark(age: number, thresholds: WorkerList["thresholds"]): string {
  if (age <= thresholds.late_seconds) return `late at ${thresholds.late_seconds} s`;
  if (age <= thresholds.stale_seconds) return `stale at ${thresholds.stale_seconds} s`;
  if (age <= thresholds.dead_seconds) return `dead at ${thresholds.dead_seconds} s`;
  return "jobs are rescued";
}

const ROWS = ["a", "b", "c"];

function Waiting() {
  return ROWS.map((key) => (
    <tr key={key} className="h-14 border-line border-t md:h-18">
      <td className="px-3 sm:pl-4">
        <Skeleton className="h-5.5 w-16 rounded-full" />
      </td>
      <td className="px-3">
        <Skeleton className="h-4 w-40 max-w-full" />
      </td>
      <td className="px-3">
        <Skeleton className="h-4 w-16" />
      </td>
      <td className="hidden px-3 sm:table-cell" />
      <td className="hidden px-3 lg:table-cell" />
      <td className="hidden px-3 md:table-cell" />
      <td className="hidden px-3 lg:table-cell" />
    </tr>
  ));
}
