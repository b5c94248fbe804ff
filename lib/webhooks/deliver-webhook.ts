/**
 * Webhooks: tenants' endpoints and the delivery of messages to them. Start with `deliverWebhook`, which a worker runs
 * as the attempt of a job; endpoints.ts and deliveries.ts are the API's side.
 *
 * A message is signed (Standard Webhooks) and posted once per attempt, to public addresses only, unless the
 * installation allows others (`WebhookPolicy`). Attempts are recorded without secrets. Secrets and headers are sealed
 * in the database (seal.ts). An endpoint that answers 410, or has failed for five days, is disabled.
 */

import { type Database, isUnavailable } from "@/lib/db";
import { throughOutage } from "@/lib/db/through-outage";
import type { Execution, Outcome, RunContext, StopReason } from "@/lib/execution";
import { stoppedOutcome } from "@/lib/execution/command/outcome";
import { EMPTY_OUTPUT, refused } from "@/lib/execution/refused";
import { type DeliveryContext, findDeliveryContext, recordDelivery } from "@/lib/webhooks/deliveries";
import {
  type Delivered,
  type DeliveryTools,
  deliverMessage,
  isGone,
  type Message,
  messageOf,
  type WebhookLimits,
  type WebhookPayload,
  type WebhookPolicy,
  webhookOutcome,
  webhookPayload,
} from "@/lib/webhooks/delivery";
import type { Sealer } from "@/lib/webhooks/seal";

const WEBHOOK_TEST = "webhook.test";

/** The parts of a job that a delivery needs. */
export interface WebhookJob {
  readonly jobId: string;
  readonly tenantId: string;
  readonly leaseNo: number;
  readonly attemptsSpent: number;
  readonly chainDepth: number;
  readonly payload: unknown;
}

/** Dependencies for delivering webhooks, shared by all deliveries. */
export interface WebhookTools {
  readonly policy: WebhookPolicy;
  readonly sealer: Sealer;
  readonly random: () => number;
  readonly limits?: WebhookLimits;
  readonly post?: DeliveryTools["post"];
}

interface Surroundings {
  /** Confined to the job's tenant. */
  readonly web: Database;
  readonly webhooks: WebhookTools;
  readonly hooks: Pick<RunContext, "signal" | "onLog">;
}

/** Delivers a job's message to its endpoint once, and records the attempt. Never rejects. */
export async function deliverWebhook(job: WebhookJob, around: Surroundings): Promise<Execution> {
  const parsed = webhookPayload.safeParse(job.payload);
  if (!parsed.success) return refused("validation", "The payload is not one of a webhook: endpoint_id, type and data.");
  try {
    const { endpoint_id: endpointId, type, message_id: messageId } = parsed.data;
    const identity = { tenantId: job.tenantId, jobId: job.jobId, endpointId, type, messageId };
    const find = () => findDeliveryContext(around.web, around.webhooks.sealer, identity);
    const context = await throughOutage(around.hooks, find);
    return await deliverTo(job, { payload: parsed.data, context, around });
  } catch (error) {
    const isUnreadable = error instanceof Error && error.name === "UnsealError";
    if (isUnreadable) return refused("internal", `The webhook was not delivered: ${error.message}.`);
    // Stopped while it waited for the database: nothing was sent.
    if (isUnavailable(error) && around.hooks.signal.aborted) {
      const reason = around.hooks.signal.reason as StopReason;
      return { outcome: stoppedOutcome(reason, "it had not started"), output: EMPTY_OUTPUT };
    }
    return {
      outcome: { kind: "failed", errorType: "database", message: "The endpoint could not be read." },
      output: EMPTY_OUTPUT,
    };
  }
}

async function deliverTo(
  job: WebhookJob,
  { payload, context, around }: { payload: WebhookPayload; context: DeliveryContext | null; around: Surroundings },
): Promise<Execution> {
  if (!context?.endpoint) return refused("not_found", "Webhook endpoint not found.");
  const { endpoint } = context;
  if (!endpoint.isEnabled) return refused("permission", "The webhook endpoint is disabled.");
  if (!context.wasSent && !wants(endpoint.eventTypes, payload.type)) {
    return { outcome: { kind: "succeeded", result: { skipped: "event_types" } }, output: EMPTY_OUTPUT };
  }
  const message = messageOf(payload, { id: job.jobId, queuedAt: context.queuedAt, fired: context.fired });
  const { policy, limits, post } = around.webhooks;
  const done = await deliverMessage(
    {
      tenantId: job.tenantId,
      message,
      url: endpoint.url,
      secrets: endpoint.secrets,
      headers: endpoint.headers,
      ownHeaders: { "leasehold-chain": String(job.chainDepth) },
    },
    { policy, signal: around.hooks.signal, ...(limits ? { limits } : {}), ...(post ? { post } : {}) },
  );
  await record(job, { endpointId: payload.endpoint_id, url: endpoint.url, message, done, around });
  return { outcome: outcomeOf(job, done, around), output: EMPTY_OUTPUT };
}

function outcomeOf(job: WebhookJob, { answer }: Delivered, { webhooks, hooks }: Surroundings): Outcome {
  const { statusCode, failed, durationMs } = answer;
  const how = failed === null ? `delivered, ${statusCode}` : `${failed.code}: ${failed.detail}`;
  hooks.onLog(failed === null ? "info" : "warn", `${how} (${durationMs} ms)`);
  const stopReason = (hooks.signal.reason ?? "shutdown") as StopReason;
  return webhookOutcome(answer, { attempts: job.attemptsSpent + 1, random: webhooks.random, stopReason });
}

interface Attempted {
  readonly endpointId: string;
  readonly url: string;
  readonly message: Message;
  readonly done: Delivered;
  readonly around: Surroundings;
}

// A failed record does not fail the delivery, because the receiver already has the message.
async function record(job: WebhookJob, { endpointId, url, message, done, around }: Attempted): Promise<void> {
  const { answer, request, response } = done;
  try {
    const off = await recordDelivery(around.web, {
      tenantId: job.tenantId,
      endpointId,
      jobId: job.jobId,
      attemptNo: job.leaseNo,
      messageId: message.id,
      type: message.type,
      url,
      statusCode: answer.statusCode,
      failed: answer.failed,
      request,
      response,
      durationMs: answer.durationMs,
      isGone: isGone(answer),
    });
    if (off !== null) around.hooks.onLog("warn", `the endpoint was disabled (${off})`);
  } catch {
    around.hooks.onLog("warn", "the delivery could not be recorded");
  }
}

// Matches a type by name, or by prefix if the pattern ends in `.*`. Tests are always wanted, because a user asked for
// them.
function wants(asked: readonly string[] | null, type: string): boolean {
  if (asked === null || type === WEBHOOK_TEST) return true;
  return asked.some((one) => (one.endsWith(".*") ? type.startsWith(one.slice(0, -1)) : one === type));
}
