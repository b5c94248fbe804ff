/*
 * Actions on many jobs, chosen in the list of jobs or of dead letters. A dry run first counts the jobs that an action
 * would apply to. The scheduler works off the action in chunks, so the action continues when the page is closed. Each
 * job gets a result: done, skipped or failed.
 *
 * Start with `bulk-dialog.tsx` (count and start), then `action-progress.tsx`. The page below lists the actions;
 * `action-detail.tsx` shows the results of one.
 */

"use client";

import { useQuery } from "@tanstack/react-query";
import { CopyCheck } from "lucide-react";
import { parseAsString, useQueryState } from "nuqs";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { TotalPager } from "@/components/ui/lists/pager";
import { PageHeader } from "@/components/ui/page-header";
import { Empty, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { ACTION_WORDS, actionListOptions } from "@/lib/client/jobs/job-actions";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useFirst } from "@/lib/client/use-first";
import type { JobAction } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { ActionMeter, stateOf } from "./action-progress";

/** The actions on many jobs of a tenant, newest first. */
export function ActionsPage() {
  const { slug } = useTenant();
  const [cursor, setCursor] = useQueryState("cursor", parseAsString.withOptions({ history: "push" }));
  const query = useQuery(actionListOptions(slug, cursor));
  const page = query.data;
  const { rows, shown, showWaiting } = usePinnedRows(page?.data, String(cursor), { followsOwnChanges: true });
  return (
    <div className="flex flex-col gap-4">
      <PageHeader title="Bulk actions" about="Actions on many jobs. Kept for 30 days." />
      <ListPanel
        label="Bulk actions"
        noun="bulk action"
        query={query}
        rows={rows}
        waiting={cursor === null ? shown.waiting.length : 0}
        onShow={() => showWaiting()}
        empty={<NoActions slug={slug} />}
        footer={<TotalPager page={page} unit="in all" cursor={cursor} onTurn={(to) => void setCursor(to)} />}
      >
        <ul aria-busy={rows === undefined} className="divide-y divide-line">
          {rows?.map((action) => (
            <ActionRow key={action.id} action={action} slug={slug} gone={shown.gone.has(action.id)} />
          )) ?? <Waiting />}
        </ul>
      </ListPanel>
    </div>
  );
}

function NoActions({ slug }: { readonly slug: string }) {
  return (
    <Empty icon={CopyCheck} title="No bulk action yet">
      <p>Select jobs in the list, or all that match its filters, and choose an action.</p>
      <Link href={`/t/${slug}/jobs`} className="font-medium text-accent underline">
        Go to jobs
      </Link>
    </Empty>
  );
}

function ActionRow({
  action,
  slug,
  gone,
}: {
  readonly action: JobAction;
  readonly slug: string;
  readonly gone: boolean;
}) {
  // The meter stays after the action ends, so that the rows below do not move up.
  const wasOpen = useFirst(action.finished_at === null) === true;
  return (
    <li className={cn("flex flex-col gap-1 px-4 py-3 hover:bg-hover", gone && "text-muted")}>
      <div className="flex flex-wrap items-baseline gap-x-3">
        <Link href={`/t/${slug}/jobs/actions/${action.id}`} className="font-medium text-sm hover:underline">
          {ACTION_WORDS[action.action].order}
        </Link>
        <span className="min-w-0 flex-1 basis-40 truncate text-muted text-sm max-sm:order-last max-sm:basis-full">
          {stateOf(action)}
        </span>
        <span className="text-muted text-xs max-sm:basis-full">
          {action.created_by.email ? `${action.created_by.email} · ` : ""}
          <Time value={action.created_at} />
        </span>
      </div>
      {wasOpen ? <ActionMeter action={action} /> : null}
    </li>
  );
}

const ROWS = ["a", "b", "c"];

function Waiting() {
  return ROWS.map((key) => (
    <li key={key} className="px-4 py-3">
      <Skeleton className="h-5 w-64 max-w-full" />
    </li>
  ));
}
