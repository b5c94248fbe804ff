import type pg from "pg";
import type { QueueModel } from "./model";

const MS = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

/** Everything in the tables about a tenant's jobs, in the model's terms. */
const STORED = `select
  (select coalesce(json_object_agg(job_id, json_build_object('state', state, 'ready', ready, 'scheduledFor', ${MS("scheduled_for")},
     'expiresAt', ${MS("expires_at")}, 'runNo', run_no, 'leaseNo', lease_no, 'spent', attempts_spent, 'reclaims', reclaims,
     'worker', claimed_by_worker, 'claimedAt', ${MS("claimed_at")}, 'startedAt', ${MS("attempt_started_at")},
     'leaseEndsAt', ${MS("lease_expires_at")}, 'cancelAt', ${MS("cancel_requested_at")})), '{}')
   from app.live_jobs where tenant_id = $1) as live,
  (select coalesce(json_agg(json_build_object('jobId', job_id, 'attemptNo', attempt_no, 'runNo', run_no, 'status', status,
     'worker', worker_id, 'claimedAt', ${MS("claimed_at")}, 'startedAt', ${MS("started_at")},
     'finishedAt', ${MS("finished_at")}, 'retryAt', ${MS("retry_at")}, 'outcome', outcome, 'attemptCount', attempt_count,
     'superseded', superseded) order by job_id, attempt_no), '[]')
   from app.job_attempts where job_id = any ($2::uuid[])) as attempts,
  (select coalesce(json_object_agg(key, json_build_object('jobId', job_id, 'live', live, 'heldUntil',
     case when held_until = 'infinity' then 1e300 else ${MS("held_until")} end)), '{}')
   from app.dedupe_keys where tenant_id = $1) as keys,
  (select coalesce(json_object_agg(id, payload), '{}') from app.jobs where id = any ($2::uuid[]) and tenant_id = $1) as payloads`;

/** Returns the stored and the expected state; equal when the queue is correct. */
export async function compare(
  client: pg.Client,
  model: QueueModel,
  tenantId: string,
): Promise<{ readonly stored: unknown; readonly expected: unknown }> {
  const ids = [...model.jobs.keys()].sort();
  const { rows } = await client.query({ name: "stored", text: STORED, values: [tenantId, ids] });
  return { stored: rows[0], expected: expectedOf(model, ids) };
}

function expectedOf(model: QueueModel, ids: readonly string[]): unknown {
  const jobs = ids.flatMap((id) => model.jobs.get(id) ?? []);
  return {
    live: Object.fromEntries(jobs.flatMap(({ id, live }) => (live ? [[id, live]] : []))),
    attempts: jobs.flatMap(({ id, attempts }) =>
      attempts.toSorted((a, b) => a.attemptNo - b.attemptNo).map((attempt) => ({ jobId: id, ...attempt })),
    ),
    keys: Object.fromEntries(model.keys),
    payloads: Object.fromEntries(jobs.map(({ id, payload }) => [id, payload])),
  };
}
