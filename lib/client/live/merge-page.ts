interface HasId {
  readonly id: string | number;
}

export interface ShownRows<T extends HasId> {
  readonly rows: readonly T[];
  /** New rows that are not shown until the user asks for them. */
  readonly waiting: readonly T[];
  /** Shown rows that are no longer in the latest answer. */
  readonly gone: ReadonlySet<T["id"]>;
}

export interface MergedList {
  /** The answer is the whole list in any order, not a newest-first page of it, so every unknown row is new. */
  readonly whole?: boolean;
  /** The answer grows when the user loads older rows, which go below the others. */
  readonly grows?: boolean;
}

/**
 * Merges a fresh answer into the rows on the screen. Known rows are updated in place, rows that left the answer stay,
 * and new rows wait. No row moves, appears or leaves. A page is newest first, so a row below its last known one is not
 * new.
 */
export function mergePage<T extends HasId>(
  shown: readonly T[],
  latest: readonly T[],
  { whole = false, grows = false }: MergedList = {},
): ShownRows<T> {
  const fresh = new Map<T["id"], T>(latest.map((row) => [row.id, row]));
  const known = new Set<T["id"]>(shown.map((row) => row.id));
  // A row below the last known one is not new: it moved up from the next page.
  const lastKnown = latest.findLastIndex((row) => known.has(row.id));
  const mayWait = (index: number) => whole || lastKnown === -1 || index < lastKnown;
  const older = grows && lastKnown !== -1 ? latest.slice(lastKnown + 1) : [];
  return {
    rows: [...shown.map((row) => fresh.get(row.id) ?? row), ...older],
    waiting: latest.filter((row, index) => !known.has(row.id) && mayWait(index)),
    gone: new Set(shown.filter((row) => !fresh.has(row.id)).map((row) => row.id)),
  };
}

/**
 * Shows the newest rows when the user asks for them. Selected rows stay, because rows about to be acted on must be
 * visible.
 */
export function showNewest<T extends HasId>(
  shown: readonly T[],
  latest: readonly T[],
  selected: ReadonlySet<T["id"]>,
): ShownRows<T> {
  const there = new Set<T["id"]>(latest.map((row) => row.id));
  const kept = shown.filter((row) => selected.has(row.id) && !there.has(row.id));
  return { rows: [...latest, ...kept], waiting: [], gone: new Set(kept.map((row) => row.id)) };
}
