/** Paths into the status and result of a parent: `status`, `result`, `result.rows[0].name`. */

const STEP = /\.([A-Za-z0-9_-]+)|\[(0|[1-9][0-9]{0,5})\]/y;
const MAX_STEPS = 32;

/**
 * Returns the steps of a path, or null if it is not valid. Steps are looked up in stored JSON only, never in objects of
 * code.
 */
export function parseResultPath(path: string): string[] | null {
  if (path === "status") return ["status"];
  if (!path.startsWith("result")) return null;
  const steps = parseSteps(path.slice("result".length));
  return steps && steps.length < MAX_STEPS ? ["result", ...steps] : null;
}

/** Returns the steps after the first word of a path (`.rows[0].name`, or nothing), or null if they are not valid. */
export function parseSteps(rest: string): string[] | null {
  const steps: string[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < rest.length) {
    const match = STEP.exec(rest);
    if (!match || steps.length >= MAX_STEPS) return null;
    steps.push(match[1] ?? match[2] ?? "");
  }
  return steps;
}
