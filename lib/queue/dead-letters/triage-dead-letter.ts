import type { Database, TenantTransaction } from "@/lib/db";
import { readStatuses } from "../actions/apply-action";
import { auditJobsSql } from "../actions/change-jobs.sql";
import { retryJob } from "../actions/retry-job";
import type { DeadLetter, DeadLetterChange } from "../actions/types";
import { checkPayload } from "../enqueue/payload-check.policy";
import { jobNotFound, QueueError } from "../errors";
import { inTenant } from "../read/get-job";
import type { TriageStatus } from "../states";
import type { Job, TenantScope } from "../types";
import { lockDeadLetterSql, triageSql } from "./dead-letters.sql";
import { getDeadLetter } from "./read-dead-letters";

const NOTE_MAX = 2000;

/**
 * Sets the triage of a dead letter: its status, its note, or both. The job's audit records the actor. A change to the
 * current values is not recorded.
 * @throws QueueError not-found; state-conflict unless the job is a dead letter; invalid-value
 */
export function triageDeadLetter(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobId, ...change }: DeadLetterChange & { readonly jobId: string },
): Promise<DeadLetter> {
  checkNote(change.note);
  return inTenant(db, scope, async (tx) => {
    const before = await lockDeadLetter(tx, scope, jobId);
    const { status = before.status, note = before.note } = change;
    if (status !== before.status || note !== before.note) await write(tx, scope, { jobId, change, before });
    const after = await getDeadLetter(tx, scope, jobId);
    if (!after) throw jobNotFound();
    return after;
  });
}

/**
 * Makes a new job from a dead letter with another payload, and marks the dead letter as resolved.
 * @throws QueueError as retryJob; state-conflict unless the job is a dead letter
 */
export function redriveEdited(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobId, payload }: { readonly jobId: string; readonly payload: unknown },
): Promise<Job> {
  return inTenant(db, scope, async (tx) => {
    const before = await lockDeadLetter(tx, scope, jobId);
    const { job } = await retryJob(tx, scope, { jobId, payload });
    const change = { status: "resolved", note: `Retried as job ${job.id} with another payload.` } as const;
    await write(tx, scope, { jobId, change, before });
    return job;
  });
}

function checkNote(note: string | undefined): void {
  if (note === undefined) return;
  const unstorable = checkPayload(note).map((problem) => ({ ...problem, pointer: "/note" }));
  const tooLong = { pointer: "/note", code: "length", detail: `must have at most ${NOTE_MAX} characters` };
  const problems = note.length > NOTE_MAX ? [tooLong] : unstorable;
  if (problems.length > 0) throw new QueueError("invalid-value", "The note is not valid.", { problems });
}

interface Before {
  readonly runNo: number;
  readonly status: TriageStatus;
  readonly note: string;
}

async function lockDeadLetter(tx: TenantTransaction, scope: TenantScope, jobId: string): Promise<Before> {
  const [locked] = await tx.run<{ run_no: number }>(lockDeadLetterSql, [scope.tenantId, jobId]);
  const letter = locked && (await getDeadLetter(tx, scope, jobId));
  if (locked && letter) return { runNo: locked.run_no, status: letter.status, note: letter.note };
  const [job] = await readStatuses(tx, scope, [jobId]);
  if (!job) throw jobNotFound();
  throw new QueueError("state-conflict", `The job is ${job.status}, so it is not a dead letter.`, {
    current: job.status,
  });
}

interface Written {
  readonly jobId: string;
  readonly change: DeadLetterChange;
  readonly before: Before;
}

async function write(
  tx: TenantTransaction,
  { tenantId, actor }: TenantScope,
  { jobId, change, before }: Written,
): Promise<void> {
  const { status = null, note = null } = change;
  await tx.run(triageSql, [tenantId, jobId, before.runNo, status, note, actor.userId]);
  await tx.run(auditJobsSql, [
    tenantId,
    [jobId],
    actor.kind,
    actor.id,
    "triage",
    actor.requestId ?? null,
    note,
    [before.status],
    [status ?? before.status],
  ]);
}
