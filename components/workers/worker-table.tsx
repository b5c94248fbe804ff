"use client";

import { CircleCheck, CircleDot, CircleOff, Clock, LogOut, type LucideIcon, TriangleAlert } from "lucide-react";
import { cn } from "@/components/ui/cn";
import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Plain } from "@/components/ui/plain";
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

type Thresholds = WorkerList["thresholds"];

/** A worker with what its heartbeat says now. */
interface SeenWorker {
  readonly worker: Worker;
  /** Seconds since the heartbeat: the server's value plus the time passed in this browser. */
  readonly age: number;
  readonly status: WorkerStatus;
  /** Its last report is outdated, because its jobs are elsewhere. */
  readonly isGone: boolean;
  readonly thresholds: Thresholds;
}

interface WorkerTableProps {
  readonly list: (Omit<WorkerList, "data"> & { readonly data: readonly Worker[] }) | undefined;
  /** Workers that are no longer listed. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
}

export function WorkerTable({ list, gone }: WorkerTableProps) {
  const now = useNow();
  const seen = list?.data.map((worker): SeenWorker => {
    const age = worker.age_seconds + Math.max(0, (now - Date.parse(list.as_of)) / 1000);
    const status = statusAt(worker, age, list.thresholds);
    return { worker, age, status, isGone: status === "stopped" || status === "dead", thresholds: list.thresholds };
  });
  return (
    <DataTable
      caption="Workers"
      columns={COLUMNS}
      rows={seen}
      rowKey={({ worker }) => worker.worker_id}
      rowClass="h-14 md:h-18 hover:bg-hover"
      rowAttributes={({ worker, status }) => ({
        className: (status === "stopped" || gone.has(worker.worker_id)) && "text-muted",
      })}
      loading={{ rows: 3, className: "h-14 md:h-18" }}
    />
  );
}

const COLUMNS: readonly Column<SeenWorker>[] = [
  {
    id: "status",
    head: "Status",
    width: "w-28 max-sm:w-24",
    placeholder: ["h-5.5 w-16 rounded-full"],
    cell: ({ status }) => <StatusPill status={status} />,
  },
  {
    id: "worker",
    head: "Worker",
    className: "max-w-0",
    placeholder: ["h-4 w-40 max-w-full"],
    cell: ({ worker }) => <WorkerName worker={worker} />,
  },
  {
    id: "heartbeat",
    head: "Heartbeat",
    width: "w-32 max-sm:w-28",
    className: "tabular whitespace-nowrap text-sm",
    placeholder: ["h-4 w-16"],
    cell: ({ age, status, thresholds }) => (
      <>
        <span className={cn((status === "stale" || status === "dead") && "font-medium text-bad")}>
          {formatAge(age)} ago
        </span>
        <span className="block text-muted text-xs">
          {status === "stopped" ? "clean stop" : nextMark(age, thresholds)}
        </span>
      </>
    ),
  },
  {
    id: "running",
    head: "Running",
    from: "sm",
    width: "w-24",
    align: "right",
    className: "tabular text-sm",
    cell: ({ worker, isGone }) => <Load worker={worker} running={isGone ? 0 : worker.running_count} />,
  },
  {
    id: "queues",
    head: "Queues",
    from: "lg",
    width: "w-36",
    className: "max-w-0 text-muted text-sm",
    cell: ({ worker: { queues, definitions } }) => (
      <p className="truncate" title={definitions.join(", ")}>
        {queues.join(", ") || "all"}
        <span className="block truncate text-xs">
          {definitions.length > 0 ? plural(definitions.length, "definition") : "every definition"}
        </span>
      </p>
    ),
  },
  {
    id: "process",
    head: "Process",
    from: "md",
    width: "w-44",
    align: "right",
    className: "tabular whitespace-nowrap text-sm",
    cell: ({ worker: { rss_bytes: memory, cpu_percent: cpu, event_loop_lag_ms: lag }, isGone }) => (
      <>
        {memory === null ? "–" : formatBytes(memory)}
        <span className="block text-muted text-xs">
          {isGone || cpu === null ? "" : `${cpu.toFixed(0)} % CPU`}
          {isGone || lag === null ? "" : ` · ${lag.toFixed(0)} ms lag`}
        </span>
      </>
    ),
  },
  {
    id: "up",
    head: "Up since",
    from: "lg",
    width: "w-28",
    align: "right",
    className: "text-muted text-sm",
    cell: ({ worker }) => <Time value={worker.started_at} />,
  },
];

function StatusPill({ status }: { readonly status: WorkerStatus }) {
  const { label, icon: Icon, className } = LOOKS[status];
  return (
    <span
      className={cn("inline-flex h-5.5 items-center gap-1.5 rounded-full pr-2.5 pl-2 font-medium text-xs", className)}
    >
      <Icon aria-hidden className="size-3" />
      {label}
    </span>
  );
}

function WorkerName({ worker }: { readonly worker: Worker }) {
  return (
    <>
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
    </>
  );
}

function Load({ worker, running }: { readonly worker: Worker; readonly running: number }) {
  return (
    <>
      {running}
      <span className="text-muted"> of {worker.capacity}</span>
      <progress
        aria-label={`Slots of ${worker.label || worker.worker_id} in use`}
        value={running}
        max={Math.max(worker.capacity, 1)}
        className="meter mt-1"
      />
    </>
  );
}

function statusAt(worker: Worker, age: number, thresholds: Thresholds): WorkerStatus {
  if (worker.status === "stopped") return "stopped";
  if (age > thresholds.dead_seconds) return "dead";
  if (age > thresholds.stale_seconds) return "stale";
  if (worker.status === "draining") return "draining";
  return age > thresholds.late_seconds ? "late" : "live";
}

function nextMark(age: number, thresholds: Thresholds): string {
  if (age <= thresholds.late_seconds) return `late at ${thresholds.late_seconds} s`;
  if (age <= thresholds.stale_seconds) return `stale at ${thresholds.stale_seconds} s`;
  if (age <= thresholds.dead_seconds) return `dead at ${thresholds.dead_seconds} s`;
  return "jobs are rescued";
}
