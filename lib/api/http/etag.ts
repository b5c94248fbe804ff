/** Returns the strong entity tag of a versioned resource. The tag changes with every change. */
export const etagOf = ({ version }: { readonly version: number }): { etag: string } => ({ etag: `"${version}"` });

const MAX_TAGS = 20;

/**
 * Returns the versions that `If-Match` allows; null means any. Weak and unknown tags match nothing, as RFC 9110
 * requires, so the answer is 412.
 */
export function expectedVersions(ifMatch: string | null): number[] | null {
  if (ifMatch === null || ifMatch.trim() === "*") return null;
  return ifMatch
    .split(",", MAX_TAGS)
    .flatMap((tag) => /^\s*"([1-9][0-9]{0,9})"\s*$/.exec(tag)?.[1] ?? [])
    .map(Number);
}
