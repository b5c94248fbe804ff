/** Replaced by the bundlers: true only in a test build. */
declare const __LEASEHOLD_TEST_BUILD__: boolean | undefined;

/** True in a test build. */
export const isTestBuild = typeof __LEASEHOLD_TEST_BUILD__ !== "undefined" && __LEASEHOLD_TEST_BUILD__;

/** Returns true in a test build that was asked to drop the application's own tenant conditions. */
export function dropTenantFilter(): boolean {
  return isTestBuild && process.env.LEASEHOLD_TEST_NO_TENANT_FILTER === "1";
}

/**
 * Returns true in a test build that was asked to drop leases: its statements accept any lease number, and its claim
 * takes jobs in flight at other workers. Fault tests must fail with it.
 */
export function dropFence(): boolean {
  return isTestBuild && process.env.LEASEHOLD_TEST_NO_FENCE === "1";
}

/**
 * Returns true in a test build that was asked to run quarantined handlers, which may have ended a worker, like all
 * others.
 */
export function dropQuarantine(): boolean {
  return isTestBuild && process.env.LEASEHOLD_TEST_NO_QUARANTINE === "1";
}

/** Returns true in a test build that was asked to run commands without namespaces, as if the kernel refused them. */
export function dropIsolation(): boolean {
  return isTestBuild && process.env.LEASEHOLD_TEST_NO_ISOLATION === "1";
}

const points = isTestBuild ? parsePoints(process.env.LEASEHOLD_TEST_FAILPOINT ?? "") : new Map<string, Point>();

/** True if this process has any failpoint. */
export const hasFailpoints = points.size > 0;

interface Point {
  passes: number;
  readonly signal: "SIGKILL" | "SIGSTOP";
}

/**
 * A place where a process can be made to die or freeze. A no-op, except in a test build whose LEASEHOLD_TEST_FAILPOINT
 * names it (`name=kill`, `name=stop`, `name=kill@3` for the third pass; several with commas).
 */
export function failpoint(name: string): void {
  const point = points.get(name);
  if (point === undefined) return;
  point.passes -= 1;
  if (point.passes === 0) process.kill(process.pid, point.signal);
}

function parsePoints(text: string): Map<string, Point> {
  const named = [...text.matchAll(/([^=,]{1,100})=(kill|stop)(?:@(\d+))?/g)];
  return new Map(
    named.map(([, name = "", how, nth]) => [
      name,
      { passes: Number(nth ?? 1), signal: how === "stop" ? "SIGSTOP" : "SIGKILL" },
    ]),
  );
}
