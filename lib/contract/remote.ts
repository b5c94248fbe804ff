import * as z from "zod";
import { RETRY_CLASSES } from "@/lib/queue/error-classes";
import { LOG_LEVELS } from "@/lib/queue/states";
import { definitionKey, id, instant, json, queueName } from "./common";
import { LIMITS } from "./limits";

/** Requests and answers of remote workers. Every write names the job (in the path) and its lease. */

const workerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/, "must be 1 to 100 of A-Z, a-z, 0-9, '.', '_', ':', '-'");
const leaseNo = z.int().min(1);

const remoteWorker = z.strictObject({
  /** New with each start of the process, so that a restarted process counts as another worker. */
  name: workerName,
  label: z.string().max(100).optional(),
  hostname: z.string().max(200).optional(),
  pid: z.int().min(0).max(2_147_483_647).optional(),
  version: z.string().max(100).optional(),
  /** How many jobs it runs at once; shown, not enforced. */
  capacity: z.int().min(0).max(10_000).optional(),
});

/** Body of POST /api/v1/worker/jobs/claim. */
export const claimWork = z.strictObject({
  worker: remoteWorker,
  definitions: z.array(definitionKey).min(1).max(LIMITS.workerKeyNamesMax),
  /** Default: all queues that the key allows. */
  queues: z.array(queueName).min(1).max(LIMITS.workerKeyNamesMax).optional(),
  limit: z.int().min(1).max(LIMITS.remoteClaimMax).default(1),
  /** How long the answer may wait for a job. */
  wait_seconds: z.int().min(0).max(LIMITS.remoteWaitSecondsMax).default(0),
  /** Never longer than the definition's own, which is the default. */
  lease_seconds: z.int().min(5).max(3600).optional(),
});

const lease = z.object({ job_id: id, lease_no: z.int() });

const remoteJob = lease.extend({
  tenant_id: id,
  definition_key: z.string(),
  definition_version: z.int(),
  payload: json,
  priority: z.int(),
  run_no: z.int(),
  /** Within this run, from 1. */
  attempt: z.int(),
  max_attempts: z.int(),
  /** The same for all attempts of a run. */
  idempotency_key: z.string(),
  correlation_id: z.string().nullable(),
  /** The worker sends it as the header Leasehold-Chain with the job's own calls to this API. */
  chain_depth: z.int(),
  timeout_seconds: z.number(),
  kill_grace_seconds: z.int(),
  lease_seconds: z.number(),
  lease_expires_at: instant,
  claimed_at: instant,
});
export type RemoteJob = z.infer<typeof remoteJob>;

export const claimedWork = z.object({
  jobs: z.array(remoteJob),
  /** Jobs of this worker with a cancel request. */
  cancel_requested: z.array(lease),
});
export type ClaimedWork = z.infer<typeof claimedWork>;

export const remoteJobParams = z.strictObject({ jobId: id });

const logLine = z.strictObject({
  /** Increases by one within an attempt. A number that is already stored is not stored again. */
  seq: z.int().min(0).max(2_000_000_000),
  level: z.enum(LOG_LEVELS).default("info"),
  message: z.string().max(LIMITS.remoteLogLineLength),
});

/** Body of POST /api/v1/worker/jobs/{jobId}/heartbeat. */
export const heartbeatBody = z.strictObject({
  lease_no: leaseNo,
  lease_seconds: z.int().min(5).max(3600).optional(),
  progress: z
    .strictObject({ percent: z.number().min(0).max(100), message: z.string().max(500).nullable().optional() })
    .optional(),
  logs: z.array(logLine).max(LIMITS.remoteLogLines).optional(),
});

export const heartbeatAnswer = lease.extend({
  lease_expires_at: instant,
  /** The job has a cancel request: stop it, and send `fail` with outcome `canceled`. */
  cancel_requested: z.boolean(),
  /** Lines of this request that were not stored, because the attempt's output is full. */
  dropped_lines: z.int(),
});

/** Body of POST /api/v1/worker/jobs/{jobId}/complete. */
export const completeWork = z.strictObject({ lease_no: leaseNo, result: json.optional() });

export const REMOTE_OUTCOMES = ["failed", "timeout", "canceled", "snoozed", "released"] as const;

/** Body of POST /api/v1/worker/jobs/{jobId}/fail: any end but success. */
export const failWork = z
  .strictObject({
    lease_no: leaseNo,
    outcome: z.enum(REMOTE_OUTCOMES).default("failed"),
    error_class: z.enum(RETRY_CLASSES).default("unknown"),
    message: z.string().max(LIMITS.errorMessageLength).optional(),
    /** Default: the error class decides. */
    retryable: z.boolean().optional(),
    retry_after_seconds: z.number().min(0).max(LIMITS.timeoutSecondsMax).optional(),
    snooze_seconds: z.number().min(0).max(LIMITS.timeoutSecondsMax).optional(),
  })
  .superRefine((body, context) => {
    const wants = (field: "message" | "snooze_seconds", outcome: string) => {
      if (body.outcome === outcome && body[field] === undefined)
        context.addIssue({ code: "custom", path: [field], message: `is required for outcome ${outcome}` });
    };
    wants("message", "failed");
    wants("snooze_seconds", "snoozed");
  });

/** How the attempt ended, as stored. Resending a request gets the same answer. */
export const settledWork = lease.extend({
  status: z.string(),
  /** The job's outcome; null when the job continues. */
  outcome: z.string().nullable(),
  retry_at: instant.nullable(),
});

/** Body of POST /api/v1/worker/state. */
export const workerState = z.strictObject({
  worker: z.strictObject({ name: workerName }),
  state: z.enum(["draining", "stopped"]),
});
export const workerStateAnswer = z.object({ worker_id: z.string(), state: z.string() });
