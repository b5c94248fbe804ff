interface HasId {
  readonly id: string | number;
}

export interface ShownRows<T extends HasId> {
  readonly rows: readonly T[];
  /** Rows that are not shown yet and wait to be asked for. */
  readonly waiting: readonly T[];
  /** Shown rows that the newest answer no longer contains. */
  readonly gone: ReadonlySet<T["id"]>;
}

/**
 * Lays a fresh answer over the rows on the screen. Known rows are updated where they stand, rows that left the answer
 * stay where they are, and new rows wait. No row moves, appears or leaves. A page is newest first, so a row below its last
 * known one is not new; of a `whole` list every unknown row is.
 */
export function mergePage<T extends HasId>(shown: readonly T[], latest: readonly T[], whole = false): ShownRows<T> {
  const fresh = new Map<T["id"], T>(latest.map((row) => [row.id, row]));
  const known = new Set<T["id"]>(shown.map((row) => row.id));
  // A row below the last known one is not new: it moved up from the next page.
  const lastKnown = latest.findLastIndex((row) => known.has(row.id));
  const mayWait = (index: number) => whole || lastKnown === -1 || index < lastKnown;
  return {
    rows: shown.map((row) => fresh.get(row.id) ?? row),
    waiting: latest.filter((row, index) => !known.has(row.id) && mayWait(index)),
    gone: new Set(shown.filter((row) => !fresh.has(row.id)).map((row) => row.id)),
  };
}

/** The newest rows, for a reader who asked for them. Selected rows stay: what is about to be acted on is not hidden. */
export function showNewest<T extends HasId>(
  shown: readonly T[],
  latest: readonly T[],
  selected: ReadonlySet<T["id"]>,
): ShownRows<T> {
  const there = new Set<T["id"]>(latest.map((row) => row.id));
  const kept = shown.filter((row) => selected.has(row.id) && !there.has(row.id));
  return { rows: [...latest, ...kept], waiting: [], gone: new Set(kept.map((row) => row.id)) };
}
