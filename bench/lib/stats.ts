/** Middle value; the mean of the two middle ones of an even number. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The smallest value that at least this share of the values does not exceed. NaN of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Jain's index of fairness: 1 when all got the same, 1/n when one got everything. */
export function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares === 0 ? Number.NaN : (sum * sum) / (shares.length * squares);
}

/** Returns the share of hits of the window that is farthest from the given share. NaN if no window fits. */
export function farthest(
  hits: readonly boolean[],
  { window, share }: { readonly window: number; readonly share: number },
): number {
  let [inside, worst] = [0, Number.NaN];
  for (const [n, hit] of hits.entries()) {
    inside += Number(hit) - Number(n >= window && hits[n - window]);
    if (n < window - 1) continue;
    if (Number.isNaN(worst) || Math.abs(inside / window - share) > Math.abs(worst - share)) worst = inside / window;
  }
  return worst;
}
