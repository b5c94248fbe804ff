/** One value of a column; of values with the same `key` only the first is compared. */
export interface Value {
  readonly line: number;
  readonly text: string;
  /** The text, normalized: lower case, and single blanks. */
  readonly key: string;
}

export interface Pair {
  readonly first: Value;
  readonly second: Value;
  readonly distance: number;
}

export const keyOf = (text: string): string => text.normalize("NFC").toLowerCase().trim().replace(/\s+/g, " ");

/**
 * Yields the pairs whose keys differ by at most `most` inserted, deleted or replaced letters. Compares every value with
 * every other of about its length, so the time grows with the square of their number. `onDone` gets the share that is
 * done.
 */
export function* similarPairs(
  values: readonly Value[],
  most: number,
  onDone: (share: number) => void = () => undefined,
): Generator<Pair> {
  const byLength = [...values].sort((a, b) => a.key.length - b.key.length);
  for (const [at, first] of byLength.entries()) {
    onDone(at / byLength.length);
    for (let other = at + 1; other < byLength.length; other += 1) {
      const second = byLength[other];
      if (!second || second.key.length - first.key.length > most) break;
      const distance = distanceWithin(first.key, second.key, most);
      if (distance !== null)
        yield first.line < second.line ? { first, second, distance } : { first: second, second: first, distance };
    }
  }
}

/** Two rows of the table, reused because allocating them would cost more than filling them. */
const scratch = { above: new Uint8Array(1024), here: new Uint8Array(1024) };

/**
 * Returns the Levenshtein distance of two texts, in UTF-16 units; null when it is more than `most` (at most 250). Fills
 * only the cells of the table that such a distance can pass through.
 */
export function distanceWithin(a: string, b: string, most: number): number | null {
  if (Math.abs(a.length - b.length) > most) return null;
  const over = most + 1;
  if (scratch.above.length < b.length + 2) {
    scratch.above = new Uint8Array(b.length * 2);
    scratch.here = new Uint8Array(b.length * 2);
  }
  let { above, here } = scratch;
  for (let column = 0; column <= Math.min(b.length, over); column += 1) above[column] = column;
  for (let row = 1; row <= a.length; row += 1) {
    const from = Math.max(1, row - most);
    const to = Math.min(b.length, row + most);
    if (!fillRow({ above, here }, { a, b, row, from, to, over })) return null;
    [above, here] = [here, above];
  }
  const distance = above[b.length] ?? over;
  return distance > most ? null : distance;
}

interface Row {
  readonly a: string;
  readonly b: string;
  readonly row: number;
  readonly from: number;
  readonly to: number;
  readonly over: number;
}

/** Fills one row. Returns false when every path through this row is already too long. */
function fillRow({ above, here }: typeof scratch, { a, b, row, from, to, over }: Row): boolean {
  const letter = a.charCodeAt(row - 1);
  // Cells outside the band count as too far; the cell above its end was never filled.
  here[from - 1] = from === 1 ? Math.min(row, over) : over;
  if (row + over - 1 <= b.length) above[to] = over;
  let least = here[from - 1] as number;
  for (let column = from; column <= to; column += 1) {
    const exchanged = (above[column - 1] as number) + (letter === b.charCodeAt(column - 1) ? 0 : 1);
    const cell = Math.min(exchanged, (above[column] as number) + 1, (here[column - 1] as number) + 1, over);
    here[column] = cell;
    if (cell < least) least = cell;
  }
  return least < over;
}
