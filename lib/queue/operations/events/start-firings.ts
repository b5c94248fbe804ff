import type { TenantTransaction } from "@/lib/db";
import { QueueError } from "../../errors";
import { cutText } from "../../policy/clean";
import { inWords } from "../../policy/event-match";
import { unfinishedOfTriggersSql } from "../../sql/events";
import type { NewJob, TenantScope } from "../../types";
import { type EnqueuedOrRefused, enqueueAlone, enqueueEach } from "../enqueue-each";
import type { Listener } from "./listeners";
import type { PlannedFiring } from "./plan-firings";

/** A firing as it is stored. */
export interface FiringRow {
  readonly trigger_id: string;
  readonly event_id: string;
  readonly fire_at: Date;
  readonly outcome: "enqueued" | "deduplicated" | "skipped" | "failed";
  readonly reason: string | null;
  readonly detail: string | null;
  readonly job_id: string | null;
}

type WithJob = Extract<PlannedFiring, { readonly job: NewJob }>;
type Ended = Pick<FiringRow, "outcome" | "reason" | "detail" | "job_id">;

/** Enqueues what firings ask for, in as few statements as their triggers allow, and answers what became of each. */
export async function startFirings(
  tx: TenantTransaction,
  { tenantId, actor }: TenantScope,
  firings: readonly PlannedFiring[],
): Promise<FiringRow[]> {
  // Without the bars of the publisher, because the trigger was saved by a caller who may start such jobs.
  const scope = { tenantId, actor };
  const withJob = firings.filter((firing): firing is WithJob => "job" in firing);
  const free = withJob.filter(({ listener }) => !isBounded(listener));
  const ends = new Map<PlannedFiring, Ended>();
  const answers = await enqueueEach(
    tx,
    scope,
    free.map(({ job }) => job),
  );
  free.forEach((firing, index) => {
    ends.set(firing, endOf(answers[index]));
  });
  const bounded = withJob.filter(({ listener }) => isBounded(listener));
  if (bounded.length > 0) await startBounded(tx, scope, { firings: bounded, ends });
  return firings.map((firing) => ({
    trigger_id: firing.listener.id,
    event_id: firing.event.id,
    fire_at: firing.event.receivedAt,
    ...(ends.get(firing) ?? unstarted(firing)),
  }));
}

const isBounded = ({ runsLeft, overlap }: Listener): boolean => runsLeft !== null || overlap !== "allow";

function unstarted(firing: PlannedFiring): Ended {
  if ("job" in firing) throw new Error("a firing that asks for a job was not looked at");
  return { outcome: firing.outcome, reason: firing.reason, detail: firing.detail, job_id: null };
}

/** One after the other: whether a job may be made depends on those before it. The triggers are locked. */
async function startBounded(
  tx: TenantTransaction,
  scope: TenantScope,
  { firings, ends }: { readonly firings: readonly WithJob[]; readonly ends: Map<PlannedFiring, Ended> },
): Promise<void> {
  const unfinished = await unfinishedJobs(tx, firings);
  const made = new Map<string, number>();
  for (const firing of firings) {
    const { listener } = firing;
    const jobs = unfinished.get(listener.id) ?? [];
    const count = made.get(listener.id) ?? 0;
    const refusal = refusalOf(listener, { count, unfinished: jobs.length });
    if (refusal) {
      ends.set(firing, { outcome: "skipped", reason: refusal, detail: null, job_id: null });
      continue;
    }
    const [before] = listener.overlap === "queue_one" ? jobs : [];
    const job = before === undefined ? firing.job : after(firing.job, before);
    const end = endOf(await enqueueAlone(tx, scope, job));
    ends.set(firing, end);
    if (end.outcome !== "enqueued" || end.job_id === null) continue;
    made.set(listener.id, count + 1);
    unfinished.set(listener.id, [...jobs, end.job_id]);
  }
}

function refusalOf(
  { runsLeft, overlap }: Listener,
  { count, unfinished }: { readonly count: number; readonly unfinished: number },
): string | null {
  if (runsLeft !== null && count >= runsLeft) return "max_runs";
  const allowed = overlap === "skip" ? 1 : 2;
  return overlap !== "allow" && unfinished >= allowed ? "overlap" : null;
}

/** A job that waits until another is over, however that ends. */
const after = (job: NewJob, jobId: string): NewJob => ({
  ...job,
  dependsOn: [{ jobId, type: "completion" }],
  onParentFailure: "run",
});

async function unfinishedJobs(tx: TenantTransaction, firings: readonly WithJob[]): Promise<Map<string, string[]>> {
  const ids = firings.flatMap(({ listener }) => (listener.overlap === "allow" ? [] : [listener.id]));
  if (ids.length === 0) return new Map();
  const rows = await tx.run<{ trigger_id: string; job_id: string }>(unfinishedOfTriggersSql, [
    tx.tenantId,
    [...new Set(ids)],
  ]);
  const found = new Map<string, string[]>();
  for (const { trigger_id, job_id } of rows) found.set(trigger_id, [...(found.get(trigger_id) ?? []), job_id]);
  return found;
}

const REASONS: Readonly<Partial<Record<QueueError["code"], string>>> = {
  "payload-invalid": "payload",
  "payload-too-large": "payload",
  "definition-unknown": "definition-inactive",
};

function endOf(answer: EnqueuedOrRefused | undefined): Ended {
  if (answer === undefined) throw new Error("a job was neither accepted nor refused");
  if (!(answer instanceof QueueError)) {
    const outcome = answer.deduplicated ? "deduplicated" : "enqueued";
    return { outcome, reason: null, detail: null, job_id: answer.jobId };
  }
  const detail = answer.problems.length > 0 ? inWords(answer.problems) : answer.message;
  return {
    outcome: "failed",
    reason: REASONS[answer.code] ?? answer.code,
    detail: cutText(detail, 2000),
    job_id: null,
  };
}
