"use client";

import { useQuery } from "@tanstack/react-query";
import { Link } from "@/components/ui/link";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { childrenOptions, jobKeys } from "@/lib/client/jobs/jobs";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import type { Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { StatusBadge } from "../status";

/** The newest child jobs of this job; renders nothing if there are none. */
export function ChildrenPanel({ slug, job }: { readonly slug: string; readonly job: Job }) {
  const poll = usePollInterval();
  const query = useQuery({ ...childrenOptions(slug, job.id), refetchInterval: isTerminal(job.status) ? false : poll });
  const page = query.data;
  const { rows, shown, showWaiting } = usePinnedRows(page?.data, job.id);
  useRefresh(jobKeys.children(slug, job.id), ({ id }) => page?.data.some((child) => child.id === id) ?? false, {
    resync: false,
  });
  if (!page || !rows || rows.length === 0) return null;
  const { total, total_relation: relation } = page.pagination;
  return (
    <section aria-label="Children" className="panel min-w-0 overflow-hidden">
      <h2 className="flex h-10 items-center gap-2 border-line border-b px-4 font-medium text-sm">
        Children
        <span className="font-normal text-muted text-xs">
          {page.data.length < total ? `the newest ${page.data.length} of ` : ""}
          {relation === "gte" ? `more than ${total}` : total}
        </span>
        <ShowNewest
          className="ml-auto"
          noun="child"
          nouns="children"
          waiting={shown.waiting.length}
          onShow={() => showWaiting()}
        />
      </h2>
      <ol className="divide-y divide-line text-sm">
        {rows.map((child) => (
          <li key={child.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
            <Link href={`/t/${slug}/jobs/${child.id}`} className="min-w-0 break-words text-accent underline">
              {child.definition_key}
            </Link>
            <StatusBadge status={child.status} />
            <code className="ml-auto min-w-0 truncate font-mono text-muted text-xs">{child.id}</code>
          </li>
        ))}
      </ol>
    </section>
  );
}
