import type { JobRow } from "@/lib/contract";

export interface ShownRows {
  readonly rows: readonly JobRow[];
  /** Rows that are newer than what is shown and wait to be let in. */
  readonly waiting: readonly JobRow[];
  /** Shown rows that the newest answer does not contain any more. */
  readonly gone: ReadonlySet<string>;
}

/**
 * Lays a fresh answer over the rows on the screen: known rows are updated where they stand, rows that left the answer
 * stay where they are, and new ones go on top only when `insert` allows rows to move.
 */
export function mergePage(
  shown: readonly JobRow[],
  latest: readonly JobRow[],
  { insert, limit }: { insert: boolean; limit: number },
): ShownRows {
  const fresh = new Map(latest.map((row) => [row.id, row]));
  const known = new Set(shown.map((row) => row.id));
  const newest = shown[0]?.id ?? "";
  // Ids rise with time, so a row that is older than the top one only moved up from the next page.
  const arrived = latest.filter((row) => !known.has(row.id) && row.id > newest);
  const updated = shown.map((row) => fresh.get(row.id) ?? row);
  const rows = insert ? [...arrived, ...updated].slice(0, limit) : updated;
  const gone = new Set(rows.filter((row) => !fresh.has(row.id)).map((row) => row.id));
  return { rows, waiting: insert ? [] : arrived, gone };
}
