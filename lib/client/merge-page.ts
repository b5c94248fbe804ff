interface HasId {
  readonly id: string;
}

export interface ShownRows<T extends HasId> {
  readonly rows: readonly T[];
  /** Rows that are not shown yet and wait to be asked for. */
  readonly waiting: readonly T[];
  /** Shown rows that the newest answer no longer contains. */
  readonly gone: ReadonlySet<string>;
}

/**
 * Lays a fresh answer over the rows on the screen. Known rows are updated where they stand, rows that left the answer
 * stay where they are, and new rows wait. No row moves, appears or leaves.
 */
export function mergePage<T extends HasId>(shown: readonly T[], latest: readonly T[]): ShownRows<T> {
  const fresh = new Map(latest.map((row) => [row.id, row]));
  const known = new Set(shown.map((row) => row.id));
  // A row below the last known one is not new: it moved up from the next page.
  const lastKnown = latest.findLastIndex((row) => known.has(row.id));
  const waiting = latest.filter((row, index) => !known.has(row.id) && (lastKnown === -1 || index < lastKnown));
  return {
    rows: shown.map((row) => fresh.get(row.id) ?? row),
    waiting,
    gone: new Set(shown.filter((row) => !fresh.has(row.id)).map((row) => row.id)),
  };
}

/** The newest rows, for a reader who asked for them. Selected rows stay: what is about to be acted on is not hidden. */
export function showNewest<T extends HasId>(
  shown: readonly T[],
  latest: readonly T[],
  selected: ReadonlySet<string>,
): ShownRows<T> {
  const there = new Set(latest.map((row) => row.id));
  const kept = shown.filter((row) => selected.has(row.id) && !there.has(row.id));
  return { rows: [...latest, ...kept], waiting: [], gone: new Set(kept.map((row) => row.id)) };
}
