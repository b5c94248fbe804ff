/** The strong entity tag of something that has a version: it changes when somebody changes it. */
export const etagOf = ({ version }: { readonly version: number }): { etag: string } => ({ etag: `"${version}"` });

const MAX_TAGS = 20;

/**
 * The versions that `If-Match` allows; null = any. Weak tags and tags that were never given out match nothing, as RFC
 * 9110 asks: the answer is 412 then.
 */
export function expectedVersions(ifMatch: string | null): number[] | null {
  if (ifMatch === null || ifMatch.trim() === "*") return null;
  return ifMatch
    .split(",", MAX_TAGS)
    .flatMap((tag) => /^\s*"([1-9][0-9]{0,9})"\s*$/.exec(tag)?.[1] ?? [])
    .map(Number);
}
