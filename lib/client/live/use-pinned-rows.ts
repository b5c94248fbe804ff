"use client";

import { useState } from "react";
import { type MergedList, mergePage, type ShownRows, showNewest } from "./merge-page";
import { changedJustNow } from "./own-change";

interface HasId {
  readonly id: string | number;
}

interface State<T extends HasId> {
  readonly key: string;
  readonly latest: readonly T[] | undefined;
  readonly shown: ShownRows<T>;
}

interface PinnedRowsOptions extends MergedList {
  /** Shows the user's own changes on this page at once: the next answers are not pinned. */
  readonly followsOwnChanges?: boolean;
  /** The first rows of an empty list wait too, because something is shown below it. */
  readonly pinsEmpty?: boolean;
}

const NO_SELECTION: ReadonlySet<never> = new Set();

/**
 * The rows of a live list. Known rows are updated in place. New rows wait until `showWaiting` is called, so no row
 * moves under the user. With another `key` (filters, page) the rows of the new answer are shown. `latest` must be the
 * same array while nothing changed.
 */
export function usePinnedRows<T extends HasId>(
  latest: readonly T[] | undefined,
  key: string,
  { followsOwnChanges = false, pinsEmpty = false, ...shape }: PinnedRowsOptions = {},
) {
  const [state, setState] = useState<State<T>>(() => ({ key, latest, shown: asIs(latest) }));
  const change = (how: (shown: ShownRows<T>) => ShownRows<T>) => setState((now) => ({ ...now, shown: how(now.shown) }));
  let { shown } = state;
  if (state.key !== key || state.latest !== latest) {
    const hasShown = state.shown.rows.length > 0 || (pinsEmpty && state.latest !== undefined);
    const isPinned = state.key === key && hasShown && !(followsOwnChanges && changedJustNow());
    shown = latest && isPinned ? mergePage(state.shown.rows, latest, shape) : asIs(latest);
    setState({ key, latest, shown });
  }
  return {
    shown,
    rows: latest ? shown.rows : undefined,
    /** Changes known rows at once, for a pushed change. */
    update: (how: (row: T) => T) => change((now) => ({ ...now, rows: now.rows.map(how) })),
    /** Shows the newest rows. Selected rows stay in the list. */
    showWaiting: (selected: ReadonlySet<T["id"]> = NO_SELECTION) =>
      change((now) => showNewest(now.rows, latest ?? now.rows, selected)),
  };
}

function asIs<T extends HasId>(rows: readonly T[] = []): ShownRows<T> {
  return { rows, waiting: [], gone: new Set() };
}
