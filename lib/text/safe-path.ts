const SAFE_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;
const LONGEST = 2000;

// A browser resolves dot segments when it follows the target, and `/.//host` then begins with two slashes.
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Returns true if a redirect target is a plain path on our own origin. */
export function isSafePath(target: string): boolean {
  if (target.length > LONGEST || !SAFE_PATH.test(target) || target.includes("\\")) return false;
  const end = target.search(/[?#]/);
  return !DOT_SEGMENT.test(end < 0 ? target : target.slice(0, end));
}

/**
 * Returns the path of a redirect target on our origin, "/" otherwise. Returns only a path, so the host cannot be wrong.
 */
export function pathOnly(target: string, origin: string): string {
  return safePathOf([target.startsWith(`${origin}/`) ? target.slice(origin.length) : target]);
}

/** Returns the target if exactly one is given and it is a plain path on our own origin; "/" otherwise. */
export function safePathOf([target = "/", ...more]: readonly string[]): string {
  return more.length === 0 && isSafePath(target) ? target : "/";
}
