import type { Database, TenantTransaction } from "@/lib/db";
import { QueueError } from "../errors";
import { inTenant } from "../read/get-job";
import type { ReplayedEvent, TenantScope } from "../types";
import { EVENT_MAX_DEPTH } from "./event-match.policy";
import { auditReplaySql, lockEventSql } from "./events.sql";
import { fanOut } from "./fan-out";
import { type StoredEventRow, toOccurred } from "./stored-event";

interface StoredRow extends StoredEventRow {
  readonly status: "pending" | "done";
  readonly now: Date;
}

/**
 * Compares a stored event with the triggers that listen now, and starts their jobs, in one transaction.
 * Triggers see the event with the same id, time and data. So payloads and dedupe keys are the same, and a job whose key
 * is still held is not made twice. Firings are added to those of the event; an audit row stores the actor.
 * `chainDepth` is that of the caller's request; the event's depth is at least as large.
 * @throws QueueError not-found; state-conflict while the event is pending, or if comparing it would keep this process
 * busy for about half a second; tenant-suspended
 */
export function replayEvent(
  db: Database | TenantTransaction,
  scope: TenantScope,
  {
    eventId,
    maxDepth = EVENT_MAX_DEPTH,
    chainDepth = 0,
  }: { readonly eventId: string; readonly maxDepth?: number; readonly chainDepth?: number },
): Promise<ReplayedEvent> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<StoredRow>(lockEventSql, [tx.tenantId, eventId]);
    if (!row) throw new QueueError("not-found", "Event not found.");
    if (row.status === "pending")
      throw new QueueError("state-conflict", "The event is pending: it has not been compared with the triggers yet.");
    const event = toOccurred({ ...row, depth: Math.max(row.depth, chainDepth) });
    const [done] = await fanOut(tx, scope, { events: [event], maxDepth, replayedAt: row.now, mayDefer: true });
    if (!done) throw tooMuchWork();
    const { considered, matched, started, reason, jobIds } = done;
    const { kind, id, requestId = null } = scope.actor;
    await tx.run(auditReplaySql, [
      tx.tenantId,
      row.id,
      kind,
      id,
      requestId,
      `triggers matched: ${matched} of ${considered}, jobs started: ${started}`,
    ]);
    return {
      id: row.id,
      considered_count: considered,
      matched_count: matched,
      started_count: started,
      reason,
      job_ids: jobIds,
    };
  });
}

const tooMuchWork = (): QueueError =>
  new QueueError(
    "state-conflict",
    "The triggers on this event search it too often for one request. Shorten their conditions, or publish the event again.",
  );
