"use client";

import { type ReactNode, useRef } from "react";
import { cn } from "../cn";
import { Time } from "../time";
import { ShowNewest } from "./show-newest";

interface ListBarProps {
  /** The noun for a row, in the singular. */
  readonly noun: string;
  /** Number of new rows that are not shown yet. */
  readonly waiting: number;
  readonly onShow: () => void;
  /** True once the rows were loaded; before that, there are no new rows to report. */
  readonly loaded: boolean;
  /** When the rows were loaded, in milliseconds, if refreshing has failed since; null otherwise. */
  readonly staleSince: number | null;
  readonly onRetry: () => void;
  /** Replaces the freshness text, for example with the bar of a selection. */
  readonly children?: ReactNode;
}

/**
 * The strip above the rows of a live list. It is always present with a fixed height, so that nothing below moves when
 * new rows arrive, rows are selected, or a refresh fails.
 */
export function ListBar({ noun, waiting, onShow, loaded, staleSince, onRetry, children }: ListBarProps) {
  const bar = useRef<HTMLDivElement>(null);
  const show = () => {
    onShow();
    window.scrollTo({ top: 0 });
    // The focused button disappears, so move the focus to just above the new rows.
    bar.current?.focus({ preventScroll: true });
  };
  return (
    <div
      ref={bar}
      tabIndex={-1}
      data-testid="list-bar"
      className={cn(
        "sticky top-0 z-20 flex h-11 items-center border-line border-b bg-panel text-sm outline-none max-lg:top-12",
        staleSince !== null && "bg-warn-soft",
      )}
    >
      <div className="flex h-full min-w-0 flex-1 items-center overflow-x-auto">
        {children ?? (
          <Freshness noun={noun} waiting={waiting} loaded={loaded} staleSince={staleSince} onRetry={onRetry} />
        )}
      </div>
      <ShowNewest noun={noun} waiting={waiting} onShow={show} className={cn("mx-3", children && "max-sm:hidden")} />
    </div>
  );
}

type FreshnessProps = Pick<ListBarProps, "noun" | "waiting" | "loaded" | "staleSince" | "onRetry">;

function Freshness({ noun, waiting, loaded, staleSince, onRetry }: FreshnessProps) {
  if (staleSince !== null) {
    return (
      <p role="status" className="flex min-w-0 items-center gap-x-3 px-4 text-warn">
        <span className="truncate">
          Could not refresh; as of <Time value={new Date(staleSince).toISOString()} />.
        </span>
        <button type="button" className="min-h-6 shrink-0 font-medium underline" onClick={onRetry}>
          Try again
        </button>
      </p>
    );
  }
  return <p className="truncate px-4 text-muted text-xs">{loaded && waiting === 0 ? `No new ${noun}s` : null}</p>;
}
