"use client";

import { useQuery } from "@tanstack/react-query";
import { ArrowDownToLine, ArrowUpFromLine, Check, CircleDashed, type LucideIcon, X } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "@/components/ui/button";
import { Link } from "@/components/ui/link";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { Plain } from "@/components/ui/plain";
import { QueryProblem } from "@/components/ui/states";
import { dependenciesOptions, jobKeys } from "@/lib/client/jobs/jobs";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { useFirst } from "@/lib/client/use-first";
import type { DependencyEdge, Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { useTenant } from "../../shell/viewer";
import { StatusBadge } from "../status";

const SHOWN = 6;
const NONE: readonly DependencyEdge[] = [];
const STATES = { pending: 0, failed: 1, met: 2 } as const;
const IF_ONE_FAILS = {
  cancel: "if one fails, this one is canceled",
  fail: "if one fails, this one fails",
  run: "runs even if one fails",
} as const;

/** Panels that appear while the page is open go below the tabs, where they move nothing. */
export type PanelPosition = "top" | "bottom";

/** The parents and children of the job, including past ones; renders nothing if there are none. */
export function DependenciesPanel({ job, position }: { readonly job: Job; readonly position: PanelPosition }) {
  const { slug } = useTenant();
  const poll = usePollInterval();
  const query = useQuery({
    ...dependenciesOptions(slug, job.id),
    refetchInterval: isTerminal(job.status) ? false : poll,
  });
  const { parents = NONE, children = NONE, has_more_children: more = false } = query.data ?? {};
  useRefresh(
    jobKeys.dependencies(slug, job.id),
    ({ id }) => [...parents, ...children].some((edge) => edge.job_id === id),
    { resync: false },
  );
  const isTop = useFirst(query.data && parents.length + children.length > 0);
  if (query.isError && !query.data) {
    if (position === "bottom") return null;
    return (
      <div className="panel">
        <QueryProblem query={query} />
      </div>
    );
  }
  if (parents.length + children.length === 0 || isTop !== (position === "top")) return null;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Edges
        title="Depends on"
        icon={ArrowUpFromLine}
        edges={parents}
        note={parents[0] ? IF_ONE_FAILS[parents[0].on_parent_failure] : ""}
      />
      <Edges title="Dependents" icon={ArrowDownToLine} edges={children} note={more ? "and more" : ""} />
    </div>
  );
}

interface EdgesProps {
  readonly title: string;
  readonly icon: LucideIcon;
  readonly edges: readonly DependencyEdge[];
  readonly note: string;
}

function Edges({ title, icon: Icon, edges, note }: EdgesProps) {
  const [all, setAll] = useState(false);
  // Open and failed edges come first, because they matter most. An edge that is met later stays in place.
  const sorted = useMemo(
    () =>
      edges
        .map((edge) => ({ ...edge, id: `${edge.job_id}:${edge.edge_no}` }))
        .sort((a, b) => STATES[a.state] - STATES[b.state]),
    [edges],
  );
  const pinned = usePinnedRows(sorted, title, { whole: true });
  const rows = pinned.shown.rows;
  if (rows.length === 0) return null;
  const met = edges.filter(({ state }) => state === "met").length;
  const shown = all ? rows : rows.slice(0, SHOWN);
  return (
    <section aria-label={title} className="panel flex min-w-0 flex-col overflow-hidden">
      <h2 className="relative flex min-h-10 flex-wrap items-center gap-x-2 border-line border-b px-4 py-1.5 font-medium text-sm">
        <Icon aria-hidden className="size-3.5 text-muted" />
        {title}
        <span className="tabular font-normal text-muted text-xs">
          {met} of {edges.length} met{note === "" ? "" : `; ${note}`}
        </span>
        <ShowNewest
          className="absolute top-1.5 right-3"
          noun="job"
          waiting={pinned.shown.waiting.length}
          onShow={() => pinned.showWaiting()}
        />
      </h2>
      <ul className="max-h-96 divide-y divide-line overflow-y-auto text-sm">
        {shown.map((edge) => (
          <Edge key={edge.id} edge={edge} named={title === "Depends on"} />
        ))}
      </ul>
      {rows.length > SHOWN ? (
        <div className="border-line border-t px-2 py-1.5">
          <Button variant="ghost" onClick={() => setAll(!all)}>
            {all ? "Show fewer" : `Show all ${rows.length}`}
          </Button>
        </div>
      ) : null}
    </section>
  );
}

const STATE_LOOKS = {
  pending: { icon: CircleDashed, label: "Open", className: "text-muted" },
  met: { icon: Check, label: "Met", className: "text-ok" },
  failed: { icon: X, label: "Not met", className: "text-bad" },
} as const;

function Edge({ edge, named }: { readonly edge: DependencyEdge; readonly named: boolean }) {
  const { slug } = useTenant();
  const { icon: Icon, label, className } = STATE_LOOKS[edge.state];
  return (
    <li className="flex items-center gap-3 px-4 py-2">
      <Icon role="img" aria-label={label} className={`size-3.5 shrink-0 ${className}`} />
      <span className="min-w-0 flex-1">
        <Link href={`/t/${slug}/jobs/${edge.job_id}`} className="block truncate text-accent underline">
          {edge.definition_key}
        </Link>
        <span className="block truncate text-muted text-xs">
          <Plain text={`${named && edge.as !== null ? `${edge.as}: ` : ""}${wantOf(edge)}`} />
        </span>
      </span>
      <StatusBadge status={edge.status} />
    </li>
  );
}

/** Describes what the child needs from the parent, in a few words. */
function wantOf({ type, condition }: DependencyEdge): string {
  if (type === "completion") return "its end with any outcome";
  if (type === "data") return "its result";
  if (type === "success") return "its success";
  const value = condition?.value === undefined ? "" : ` ${JSON.stringify(condition.value)}`;
  return `${condition?.path} ${condition?.op}${value}`;
}
