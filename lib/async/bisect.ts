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
 * Applies a batch. While it is refused because of a single item, applies its halves one after the other, until that item
 * stands alone. Returns the results in the order of the items; none for an empty batch.
 *
 * An item that is refused costs about 2·log₂(n) calls of `apply`, and the items around it are still applied together.
 *
 * @throws the error of `apply` for which `isOfOne` is false, and any error of `onRefused`; the later items are not applied then
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
