const SAFE_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;
const LONGEST = 2000;

/** Whether a redirect target is a plain path on our own origin. */
export function isSafePath(target: string): boolean {
  return target.length <= LONGEST && SAFE_PATH.test(target) && !target.includes("\\");
}

/** The path of a redirect target when it stays on our origin, "/" otherwise. A path, so no host can be wrong. */
export function pathOnly(target: string, origin: string): string {
  const path = target.startsWith(`${origin}/`) ? target.slice(origin.length) : target;
  return isSafePath(path) ? path : "/";
}
