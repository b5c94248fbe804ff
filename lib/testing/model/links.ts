import type { TerminalState } from "@/lib/queue/states";
import type { EdgeModel, JobModel } from "./shapes";

type Jobs = ReadonlyMap<string, JobModel>;

/** Returns how a job's last run ended; null while the job is live. */
export function modelOutcome(jobs: Jobs, id: string): TerminalState | null {
  const standing = jobs.get(id)?.attempts.find(({ outcome, superseded }) => outcome !== null && !superseded);
  return standing?.outcome ?? null;
}

function holds(jobs: Jobs, { type, condition, parentId }: EdgeModel, outcome: TerminalState): boolean {
  if (type === "completion") return true;
  if (type !== "conditional" || condition === null) return outcome === "succeeded";
  const seen = condition.about === "status" ? outcome : jobs.get(parentId)?.n;
  if (condition.op === "eq") return seen === condition.value;
  return typeof seen === typeof condition.value && (seen ?? 0) > condition.value;
}

/** Records on a job's edges the outcome of an ended parent. @returns true if the job was waiting for it */
export function lookAt(jobs: Jobs, job: JobModel, parent: string): boolean {
  const outcome = modelOutcome(jobs, parent);
  const waited = job.edges.filter((edge) => edge.parentId === parent && edge.state === "pending");
  if (outcome === null || waited.length === 0) return false;
  for (const edge of waited) edge.state = holds(jobs, edge, outcome) ? "met" : "failed";
  return true;
}

/** Returns what happens to a blocked job, from the state of its edges. A failed parent counts before a pending one. */
export function afterParents({ edges, onParentFailure }: JobModel): "free" | "waits" | "canceled" | "failed" {
  if (onParentFailure !== "run" && edges.some(({ state }) => state === "failed"))
    return onParentFailure === "fail" ? "failed" : "canceled";
  return edges.some(({ state }) => state === "pending") ? "waits" : "free";
}

/**
 * Returns ended parents that did not meet the job's edge, including parents whose end was not recorded on the edge yet.
 */
function unmetParents(jobs: Jobs, { edges, onParentFailure }: JobModel): string[] {
  if (onParentFailure === "run") return [];
  return edges.flatMap((edge) => {
    const outcome = modelOutcome(jobs, edge.parentId);
    return edge.state !== "met" && outcome !== null && !holds(jobs, edge, outcome) ? [edge.parentId] : [];
  });
}

/**
 * Returns which of these jobs cannot run again together, because a parent has ended, did not meet the edge, and does
 * not run again with them: the parent is not among them, is refused, or is blocked itself.
 */
export function blockedByParents(
  jobs: Jobs,
  together: readonly JobModel[],
  refused: ReadonlySet<string> = new Set(),
): Set<string> {
  const ids = new Set(together.map(({ id }) => id));
  const blocked = new Set<string>();
  const isBlocked = (parent: string) => !ids.has(parent) || refused.has(parent) || blocked.has(parent);
  for (let before = -1; before < blocked.size; ) {
    before = blocked.size;
    for (const job of together) if (unmetParents(jobs, job).some(isBlocked)) blocked.add(job.id);
  }
  return blocked;
}

/**
 * Renders the parents' numbers into the payload of a job that is about to be released. Returns false when one is
 * missing; then the edges count as failed.
 */
export function render(jobs: Jobs, job: JobModel): boolean {
  const wanted = job.edges.filter(({ type }) => type === "data");
  const found = wanted.map(({ parentId }) => (modelOutcome(jobs, parentId) && jobs.get(parentId)?.n) ?? job.fallback);
  const isWhole = found.every((n) => n !== null);
  if (!isWhole) for (const edge of wanted) edge.state = "failed";
  else if (found.length > 0) job.payload = found;
  return isWhole;
}
