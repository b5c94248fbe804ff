"use client";

import { useQuery } from "@tanstack/react-query";
import { CopyCheck } from "lucide-react";
import { parseAsString, useQueryState } from "nuqs";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { ListBar } from "@/components/ui/list-bar";
import { Empty, ProblemPanel, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { formatCount } from "@/lib/client/format";
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
      <header>
        <h1 className="font-semibold text-xl tracking-tight">Bulk actions</h1>
        <p className="text-muted text-sm">Actions on many jobs. Kept for 30 days.</p>
      </header>
      <section aria-label="Bulk actions" className="panel overflow-clip">
        <ListBar
          noun="bulk action"
          waiting={cursor === null ? shown.waiting.length : 0}
          onShow={() => showWaiting()}
          read={page !== undefined}
          staleSince={query.isError && page ? query.dataUpdatedAt : null}
          onRetry={() => void query.refetch()}
        />
        {query.isError && !page ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : rows?.length === 0 ? (
          <Empty icon={CopyCheck} title="No bulk action yet">
            <p>Select jobs in the list, or all that match its filters, and choose an action.</p>
            <Link href={`/t/${slug}/jobs`} className="font-medium text-accent underline">
              Go to jobs
            </Link>
          </Empty>
        ) : (
          <ul aria-busy={rows === undefined} className="divide-y divide-line">
            {rows?.map((action) => (
              <ActionRow key={action.id} action={action} slug={slug} gone={shown.gone.has(action.id)} />
            )) ?? <Waiting />}
          </ul>
        )}
        {page && page.data.length > 0 ? (
          <nav aria-label="Pages" className="flex items-center gap-2 border-line border-t px-4 py-2">
            <p className="tabular flex-1 text-muted text-xs">{formatCount(page.pagination.total)} in all</p>
            {cursor !== null ? (
              <Button size="sm" onClick={() => void setCursor(null)}>
                Newest
              </Button>
            ) : null}
            {page.pagination.has_more ? (
              <Button size="sm" onClick={() => void setCursor(page.pagination.next_cursor)}>
                Older
              </Button>
            ) : null}
          </nav>
        ) : null}
      </section>
    </div>
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
