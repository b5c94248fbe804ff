const SAFE_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;
const LONGEST = 2000;

// Dot segments are resolved by whoever follows the target, and `/.//host` then begins with two slashes.
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Whether a redirect target is a plain path on our own origin. */
export function isSafePath(target: string): boolean {
  if (target.length > LONGEST || !SAFE_PATH.test(target) || target.includes("\\")) return false;
  return !DOT_SEGMENT.test(target.replace(/[?#].*$/, ""));
}

/** The path of a redirect target when it stays on our origin, "/" otherwise. A path, so no host can be wrong. */
export function pathOnly(target: string, origin: string): string {
  const path = target.startsWith(`${origin}/`) ? target.slice(origin.length) : target;
  return isSafePath(path) ? path : "/";
}
