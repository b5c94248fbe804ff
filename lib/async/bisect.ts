/** The parts of a bisection that differ between its users. */
export interface Bisection<Item, Result> {
  /** Processes a batch completely, or rejects without any effect. */
  readonly apply: (batch: readonly Item[]) => Promise<Result>;
  /** True if a single item may have caused the error. Any other error ends the bisection. */
  readonly isOfOne: (error: unknown) => boolean;
  /** Handles an item that `apply` refused alone. */
  readonly onRefused: (item: Item, error: unknown) => Result | Promise<Result>;
}

/**
 * Applies a batch. If `apply` rejects because of a single item, applies the two halves one after the other, and so on
 * until that item stands alone. Returns the results in the order of the items; none for an empty batch.
 *
 * A refused item costs about 2·log₂(n) calls of `apply`. The items around it are still applied together.
 *
 * @throws the first error of `apply` that `isOfOne` denies, or of `onRefused`; later items are then not applied
 */
export async function bisect<Item, Result>(
  batch: readonly Item[],
  bisection: Bisection<Item, Result>,
): Promise<readonly Result[]> {
  const [first] = batch;
  if (first === undefined) return [];
  try {
    return [await bisection.apply(batch)];
  } catch (error) {
    if (!bisection.isOfOne(error)) throw error;
    if (batch.length === 1) return [await bisection.onRefused(first, error)];
  }
  const middle = batch.length >> 1;
  const before = await bisect(batch.slice(0, middle), bisection);
  return [...before, ...(await bisect(batch.slice(middle), bisection))];
}
