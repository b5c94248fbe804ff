const SAFE_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;
const LONGEST = 2000;

// Dot segments are resolved by whoever follows the target, and `/.//host` then begins with two slashes.
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Whether a redirect target is a plain path on our own origin. */
export function isSafePath(target: string): boolean {
  if (target.length > LONGEST || !SAFE_PATH.test(target) || target.includes("\\")) return false;
  const end = target.search(/[?#]/);
  return !DOT_SEGMENT.test(end < 0 ? target : target.slice(0, end));
}
