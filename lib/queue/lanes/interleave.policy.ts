/**
 * Mixes the groups of a list evenly. Each group keeps its order, and any stretch of the result holds about the same
 * share of each group as the whole.
 */
export function interleave<T>(items: readonly T[], groupOf: (item: T) => number): readonly T[] {
  const sizes = new Map<number, number>();
  for (const item of items) sizes.set(groupOf(item), (sizes.get(groupOf(item)) ?? 0) + 1);
  if (sizes.size < 2) return items;
  const given = new Map<number, number>();
  return items
    .map((item) => {
      const group = groupOf(item);
      const nth = given.get(group) ?? 0;
      given.set(group, nth + 1);
      return { item, at: (nth + 0.5) / (sizes.get(group) ?? 1) };
    })
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
