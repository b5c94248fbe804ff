import type { TerminalState } from "@/lib/queue/states";
import type { EdgeModel, JobModel } from "./shapes";

type Jobs = ReadonlyMap<string, JobModel>;

/** How a job's last run ended; null while it lives. */
export function outcomeOf(jobs: Jobs, id: string): TerminalState | null {
  const standing = jobs.get(id)?.attempts.find(({ outcome, superseded }) => outcome !== null && !superseded);
  return standing?.outcome ?? null;
}

const holds = ({ type }: EdgeModel, outcome: TerminalState): boolean =>
  type === "completion" || outcome === "succeeded";

/** Notes on a job's edges what became of a parent that is over. @returns whether it had waited for it */
export function lookAt(jobs: Jobs, job: JobModel, parent: string): boolean {
  const outcome = outcomeOf(jobs, parent);
  const waited = job.edges.filter((edge) => edge.parentId === parent && edge.state === "pending");
  if (outcome === null || waited.length === 0) return false;
  for (const edge of waited) edge.state = holds(edge, outcome) ? "met" : "failed";
  return true;
}

/** What follows for a blocked job from the state of its edges: a parent that failed counts before one that is pending. */
export function afterParents({ edges, onParentFailure }: JobModel): "free" | "waits" | "canceled" | "failed" {
  if (onParentFailure !== "run" && edges.some(({ state }) => state === "failed"))
    return onParentFailure === "fail" ? "failed" : "canceled";
  return edges.some(({ state }) => state === "pending") ? "waits" : "free";
}

/**
 * Whether a retry is refused, because a parent is over and still not what the job waits for. Also one that the job had
 * not heard of: once it has ended because of another parent, nobody looks at its pending edges any more.
 */
export function isHeldByParent(jobs: Jobs, { edges, onParentFailure }: JobModel): boolean {
  return edges.some((edge) => {
    const outcome = outcomeOf(jobs, edge.parentId);
    return onParentFailure !== "run" && edge.state !== "met" && outcome !== null && !holds(edge, outcome);
  });
}
