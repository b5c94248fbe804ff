"use client";

import { useQuery } from "@tanstack/react-query";
import { ListTodo, Radio } from "lucide-react";
import { useMemo } from "react";
import { Link } from "@/components/ui/link";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { type ChainLink, chainKey, chainOptions, inOrder } from "@/lib/client/jobs/chain";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { useFirst } from "@/lib/client/use-first";
import type { Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { nothingWords } from "../events/words";
import type { PanelPosition } from "../jobs/detail/dependencies-panel";
import { StatusBadge } from "../jobs/status";
import { useTenant } from "../shell/viewer";

interface ChainPanelProps {
  readonly correlation: string;
  /** The job or event that the page shows, which is not a link in the panel. */
  readonly current: string;
  /** The job that began the chain without a correlation id, if it is the page's own. */
  readonly first?: Job | undefined;
  /**
   * The position of this panel. Omitted: the panel may appear at any time; otherwise only in the position it had at
   * first.
   */
  readonly position?: PanelPosition;
}

/** Everything with one correlation id, in order; renders nothing if no event is part of it. */
export function ChainPanel({ correlation, current, first, position }: ChainPanelProps) {
  const { slug } = useTenant();
  const poll = usePollInterval();
  const query = useQuery({
    ...chainOptions(slug, correlation),
    refetchInterval: (one) => (one.state.data?.links.every(isOver) ? false : poll(one)),
  });
  const chain = query.data;
  // A chain grows only by what its own jobs publish and enqueue, so changes of other jobs do not matter.
  useRefresh(chainKey(slug, correlation), ({ id }) => {
    return id === current || (chain?.links.some((link) => link.kind === "job" && link.job.id === id) ?? false);
  });
  const known = useMemo(
    () =>
      chain &&
      [...(first ? inOrder([], [first]) : []), ...chain.links].map((link) => ({
        ...link,
        id: link.kind === "event" ? link.event.id : link.job.id,
      })),
    [chain, first],
  );
  const { rows: links = [], shown, showWaiting } = usePinnedRows(known, correlation, { whole: true });
  const isChain = chain && known && known.length > 1 && known.some(({ kind }) => kind === "event");
  const isTop = useFirst(isChain);
  if (!chain || !isChain || (position !== undefined && isTop !== (position === "top"))) return null;
  return (
    <section aria-label="Chain" className="panel min-w-0 shrink-0 overflow-hidden">
      <h2 className="relative flex min-h-10 flex-wrap items-center gap-x-2 border-line border-b px-4 py-1.5 font-medium text-sm">
        Chain
        <code className="min-w-0 truncate font-mono font-normal text-muted text-xs" data-testid="correlation-id">
          <Plain oneLine text={correlation} />
        </code>
        {chain.hasMore ? <span className="font-normal text-muted text-xs">the newest of many</span> : null}
        <ShowNewest
          className="absolute top-1.5 right-3"
          noun="link"
          waiting={shown.waiting.length}
          onShow={() => showWaiting()}
        />
      </h2>
      <ol className="divide-y divide-line text-sm">
        {links.map((link) => (
          <li key={link.id}>
            <LinkLine link={link} slug={slug} current={current} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** True for a link that can have no further effects. */
const isOver = (link: ChainLink): boolean =>
  link.kind === "event" ? link.event.status !== "pending" : isTerminal(link.job.status);

function LinkLine({
  link,
  slug,
  current,
}: {
  readonly link: ChainLink;
  readonly slug: string;
  readonly current: string;
}) {
  const isEvent = link.kind === "event";
  const [id, name] = isEvent ? [link.event.id, link.event.name] : [link.job.id, link.job.definition_key];
  const href = isEvent ? `/t/${slug}/jobs/events?event=${id}` : `/t/${slug}/jobs/${id}`;
  const Icon = isEvent ? Radio : ListTodo;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2" aria-current={id === current || undefined}>
      <Icon aria-hidden className="size-3.5 shrink-0 text-muted" />
      <span className="w-10 shrink-0 text-muted text-xs">{isEvent ? "event" : "job"}</span>
      {id === current ? (
        <strong className="min-w-0 break-words font-medium">{name}</strong>
      ) : (
        <Link href={href} className="min-w-0 break-words text-accent underline">
          {name}
        </Link>
      )}
      {isEvent ? <EventEnd link={link} /> : <StatusBadge status={link.job.status} />}
      <span className="ml-auto text-muted text-xs">
        <Time value={link.at} />
      </span>
    </div>
  );
}

function EventEnd({ link }: { readonly link: Extract<ChainLink, { kind: "event" }> }) {
  const nothing = nothingWords(link.event);
  const { started_count: started } = link.event;
  return (
    <span className="text-muted text-xs">{nothing ?? `started ${started} ${started === 1 ? "job" : "jobs"}`}</span>
  );
}
