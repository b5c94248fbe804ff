import * as z from "zod";
import { id, instant, json, listOf, pageQuery } from "./common";

export const WEBHOOK_LIMITS = {
  endpointsMax: 100,
  urlLength: 2048,
  descriptionLength: 500,
  typeLength: 200,
  eventTypesMax: 100,
  headersMax: 20,
  headerValueLength: 1024,
} as const;

/** Why an endpoint is disabled: manually, because it answered 410, or because no delivery succeeded for five days. */
export const DISABLED_REASONS = ["manual", "gone", "failing"] as const;

/**
 * Why a delivery attempt failed. `http_status`: the receiver answered with an error; `blocked`: the address may not be
 * reached from here; `too_large`: the answer had more than 64 KiB.
 */
export const DELIVERY_ERRORS = [
  "http_status",
  "redirect",
  "too_large",
  "connect_refused",
  "connect_timeout",
  "response_timeout",
  "reset",
  "tls",
  "dns",
  "blocked",
  "network",
  "bad_response",
  "stopped",
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

const TYPE = /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,198}[A-Za-z0-9])?$/;

/** The type of a message, such as `job.succeeded`. */
export const webhookType = z.string().regex(TYPE, "must be a name, such as job.succeeded");
/** A type that an endpoint subscribes to: a name, or a prefix of names before `.*`. */
const wantedType = z
  .string()
  .max(WEBHOOK_LIMITS.typeLength + 2)
  .refine((text) => TYPE.test(text.endsWith(".*") ? text.slice(0, -2) : text), "must be a type, or a prefix and .*");

const lastDelivery = z.object({
  id,
  status_code: z.int().nullable(),
  error_code: z.enum(DELIVERY_ERRORS).nullable(),
  started_at: instant,
});

export const webhookEndpoint = z.object({
  id,
  tenant_id: id,
  url: z.string(),
  description: z.string(),
  /** Null: all types. */
  event_types: z.array(z.string()).nullable(),
  is_enabled: z.boolean(),
  disabled_reason: z.enum(DISABLED_REASONS).nullable(),
  /** Names only: the values are never shown again. */
  header_names: z.array(z.string()),
  /** After a rotation: until when messages are also signed with the previous secret. */
  previous_secret_until: instant.nullable(),
  /** Time of the first failure since the last successful delivery; null when the last delivery succeeded. */
  failing_since: instant.nullable(),
  last_delivery: lastDelivery.nullable(),
  /** Also sent as ETag. Send it in If-Match to change only the version you have seen. */
  version: z.int(),
  created_by: id.nullable(),
  created_at: instant,
  updated_at: instant,
});
export type WebhookEndpoint = z.infer<typeof webhookEndpoint>;
export const webhookEndpointList = z.object({ data: z.array(webhookEndpoint) });

/** An endpoint with its secret, which is shown in this answer and never again. */
export const webhookEndpointWithSecret = webhookEndpoint.extend({
  /** `whsec_` and base64; empty when the answer is replayed for an Idempotency-Key. */
  secret: z.string(),
});
export type WebhookEndpointWithSecret = z.infer<typeof webhookEndpointWithSecret>;

const headers = z.record(z.string(), z.string());
const url = z.string().min(1).max(WEBHOOK_LIMITS.urlLength);
const description = z.string().max(WEBHOOK_LIMITS.descriptionLength);
const eventTypes = z.array(wantedType).min(1).max(WEBHOOK_LIMITS.eventTypesMax);

/** Body of POST /api/v1/webhooks. */
export const createWebhook = z.strictObject({
  url,
  description: description.optional(),
  event_types: eventTypes.nullish(),
  headers: headers.optional(),
  is_enabled: z.boolean().optional(),
});
export type CreateWebhook = z.infer<typeof createWebhook>;

/** Body of PATCH /api/v1/webhooks/{endpointId}: omitted fields are unchanged; null removes types or headers. */
export const updateWebhook = z.strictObject({
  url: url.optional(),
  description: description.optional(),
  event_types: eventTypes.nullish(),
  /** Replaces all headers. */
  headers: headers.nullish(),
  is_enabled: z.boolean().optional(),
});
export type UpdateWebhook = z.infer<typeof updateWebhook>;

export const webhookParams = z.strictObject({ endpointId: id });
export const deliveryParams = z.strictObject({ endpointId: id, deliveryId: id });

/** Body of POST …/test: what to send instead of the sample. */
export const testWebhook = z.strictObject({ type: webhookType.optional(), data: json.optional() });

/** The job that will deliver the message. */
export const webhookJob = z.object({ job_id: id });

export const webhookDelivery = z.object({
  id,
  endpoint_id: id,
  job_id: id,
  attempt_no: z.int(),
  /** The header `webhook-id`: the same for all attempts and resends. */
  message_id: z.string(),
  type: z.string(),
  url: z.string(),
  status_code: z.int().nullable(),
  /** Null: the receiver accepted it. */
  error_code: z.enum(DELIVERY_ERRORS).nullable(),
  error_text: z.string().nullable(),
  /** Beginnings of the request and the response, without secrets. */
  request: z.string(),
  response: z.string().nullable(),
  duration_ms: z.int(),
  started_at: instant,
});
export type WebhookDelivery = z.infer<typeof webhookDelivery>;
export const webhookDeliveryList = listOf(webhookDelivery);
export const webhookDeliveryQuery = z.strictObject({
  ...pageQuery,
  outcome: z.enum(["delivered", "failed"]).optional(),
  job_id: id.optional(),
});
