/*
 * The platform's Workers page: each worker with its heartbeat, load and version, and the keys of remote workers. The
 * age of a heartbeat is the server's value plus the time since, and the server's thresholds decide which workers are
 * late, stale or dead. The text of a key is shown once, after its creation.
 *
 * Start with the page below, then `worker-table.tsx`, `worker-keys.tsx` and `new-worker-key.tsx`.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { Server } from "lucide-react";
import { useMemo } from "react";
import { CopyButton } from "@/components/ui/copy-button";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { Empty } from "@/components/ui/states";
import { plural } from "@/lib/client/format";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { workersOptions } from "@/lib/client/platform";
import { useFirst } from "@/lib/client/use-first";
import type { WorkerList } from "@/lib/contract";
import { WorkerKeys } from "./worker-keys";
import { WorkerTable } from "./worker-table";

/**
 * Heartbeat ages tick in the browser, so polling only finds workers that appear, disappear or stop sending heartbeats.
 */
const POLL_MS = 15_000;

interface WorkersPageProps {
  readonly initial?: WorkerList;
  /** Private targets that webhooks may reach in this installation. */
  readonly webhookExceptions?: readonly string[];
}

/** The workers: which process is unhealthy? */
export function WorkersPage({ initial, webhookExceptions = [] }: WorkersPageProps) {
  const query = useQuery({ ...workersOptions(), initialData: initial, refetchInterval: POLL_MS });
  const list = query.data;
  const workers = useMemo(() => list?.data.map((worker) => ({ ...worker, id: worker.worker_id })), [list?.data]);
  const { rows, shown, showWaiting } = usePinnedRows(workers, "workers", { whole: true });
  const differ = list && list.tz_versions.length > 1;
  const differedAtFirst = useFirst(differ);
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <h1 className="font-semibold text-xl tracking-tight">Workers</h1>
        {list ? <FleetLine list={list} /> : null}
      </header>
      {webhookExceptions.length > 0 ? (
        <p role="note" className="rounded-md bg-warn-soft px-4 py-2 text-sm text-warn">
          Not for production: webhooks of tenants may also reach{" "}
          <span className="font-mono">{webhookExceptions.join(", ")}</span>.
        </p>
      ) : null}
      <ListPanel
        label="Workers"
        noun="worker"
        query={query}
        rows={rows}
        waiting={shown.waiting.length}
        onShow={() => showWaiting()}
        empty={<NoWorkers />}
      >
        <WorkerTable list={list && rows ? { ...list, data: rows } : undefined} gone={shown.gone} />
      </ListPanel>
      {/* Below the rows, and below the keys if it appears later, so that it moves none of them. */}
      {list && differ && differedAtFirst ? <TzNote list={list} /> : null}
      <div className="pt-4">
        <WorkerKeys />
      </div>
      {list && differ && !differedAtFirst ? <TzNote list={list} /> : null}
    </div>
  );
}

function FleetLine({ list }: { readonly list: WorkerList }) {
  const up = list.data.filter(
    (worker) => worker.status === "live" || worker.status === "late" || worker.status === "draining",
  );
  const sick = list.data.filter((worker) => worker.status === "stale" || worker.status === "dead");
  const running = up.reduce((sum, worker) => sum + worker.running_count, 0);
  const capacity = up.reduce((sum, worker) => sum + worker.capacity, 0);
  // A remote worker has the version of its own program.
  const versions = new Set(up.flatMap(({ isolation, version }) => (isolation === "remote" ? [] : [version])));
  return (
    <p className="tabular min-h-10 text-muted text-sm max-sm:min-h-20 xl:min-h-0">
      {plural(up.length, "worker")} up · {running} of {capacity} slots busy
      {sick.length > 0 ? <span className="font-medium text-bad"> · {sick.length} stale or dead</span> : null}
      {versions.size > 1 ? (
        <span className="font-medium text-warn"> · {versions.size} versions side by side</span>
      ) : null}
      <span>
        {" "}
        · late from {list.thresholds.late_seconds} s, stale from {list.thresholds.stale_seconds} s, dead from{" "}
        {list.thresholds.dead_seconds} s
      </span>
    </p>
  );
}

function TzNote({ list }: { readonly list: WorkerList }) {
  const parts = list.tz_versions.map(({ tz_version, workers, schedulers, web }) => {
    const who = [
      workers > 0 ? plural(workers, "worker") : "",
      schedulers > 0 ? plural(schedulers, "scheduler") : "",
      web > 0 ? "this web process" : "",
    ];
    return `${tz_version ?? "unknown"} (${who.filter(Boolean).join(", ")})`;
  });
  return (
    <p role="note" className="rounded-md bg-warn-soft px-4 py-2 text-sm text-warn">
      Processes have different time-zone data: {parts.join("; ")}. They may compute different times for the same
      schedule. Run the same Node.js version everywhere.
    </p>
  );
}

function NoWorkers() {
  const command = "npm run worker";
  return (
    <Empty icon={Server} title="No workers">
      <p>Jobs wait until one runs. Start one in this folder, or on any machine that reaches the database:</p>
      <p className="flex items-center gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3 font-mono text-ink text-xs">
        {command}
        <CopyButton text={command} label="Copy the command" />
      </p>
      <p>
        On another machine, save what <code className="font-mono">npm run secrets --silent -- worker</code> prints here
        to a file and set <code className="font-mono">SECRETS_FILE</code> to its path. This page shows the worker as
        soon as it runs.
      </p>
    </Empty>
  );
}
