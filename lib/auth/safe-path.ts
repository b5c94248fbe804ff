import { isSafePath } from "@/lib/text/safe-path";

/** The path of a redirect target when it stays on our origin, "/" otherwise. A path, so no host can be wrong. */
export function pathOnly(target: string, origin: string): string {
  const path = target.startsWith(`${origin}/`) ? target.slice(origin.length) : target;
  return isSafePath(path) ? path : "/";
}
