"use client";

import type { ReactNode } from "react";
import { QueryProblem } from "../states";
import { ListBar } from "./list-bar";

interface ListQuery {
  readonly data: unknown;
  readonly error: unknown;
  readonly isError: boolean;
  readonly isFetching: boolean;
  readonly dataUpdatedAt: number;
  refetch(): unknown;
}

interface ListPanelProps {
  readonly label: string;
  /** The noun for a row, in the singular. */
  readonly noun: string;
  readonly query: ListQuery;
  /** The rows on the screen; undefined while the first answer is loading. */
  readonly rows: readonly unknown[] | undefined;
  /** Number of new rows that are not shown yet. */
  readonly waiting: number;
  readonly onShow: () => void;
  /** Shown above the bar, for example the heading of a list below others. */
  readonly head?: ReactNode;
  /** Replaces the freshness text of the bar. */
  readonly bar?: ReactNode;
  /** Shown instead of the rows if there are none. */
  readonly empty: ReactNode;
  readonly footer?: ReactNode;
  /** The rows, or their placeholders while they are loading. */
  readonly children: ReactNode;
}

/** A live list in each of its states: loading, failed, empty, or with rows. */
export function ListPanel(props: ListPanelProps) {
  const { label, noun, query, rows, waiting, onShow, head, bar, empty, footer, children } = props;
  const loaded = query.data !== undefined;
  const strip = (
    <ListBar
      noun={noun}
      waiting={waiting}
      onShow={onShow}
      loaded={loaded}
      staleSince={query.isError && loaded ? query.dataUpdatedAt : null}
      onRetry={() => void query.refetch()}
    >
      {bar}
    </ListBar>
  );
  return (
    <section aria-label={label} className="panel overflow-clip">
      {head}
      {head ? <div className="border-line border-t">{strip}</div> : strip}
      {query.isError && !loaded ? <QueryProblem query={query} /> : rows?.length === 0 ? empty : children}
      {footer}
    </section>
  );
}
