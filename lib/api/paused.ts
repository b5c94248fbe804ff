import { isRestoredCopy, runInCommonLine } from "@/lib/db";
import { PAUSED } from "@/lib/process";
import { HttpProblem } from "./http/problem";
import { type ApiRuntime, getRuntime } from "./runtime";

const KNOWN_FOR_MS = 5000;
const known = new WeakMap<ApiRuntime, { readonly at: number; readonly paused: Promise<boolean> }>();

/**
 * Returns true while nothing runs because the database is a restored copy; cached for five seconds. False if the
 * database does not answer.
 */
export function isPaused(): Promise<boolean> {
  const runtime = getRuntime();
  const last = known.get(runtime);
  if (last && performance.now() - last.at < KNOWN_FOR_MS) return last.paused;
  const paused = runInCommonLine(() => isRestoredCopy(runtime.web)).catch(() => false);
  known.set(runtime, { at: performance.now(), paused });
  return paused;
}

/** @throws HttpProblem while no job may run */
export async function refuseWhilePaused(): Promise<void> {
  if (await isPaused())
    throw new HttpProblem("unavailable", { detail: PAUSED.advice, headers: { "retry-after": "30" } });
}
