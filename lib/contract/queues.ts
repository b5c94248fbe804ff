import * as z from "zod";
import { LIMIT_SCOPES, PAUSE_SCOPES } from "@/lib/queue/states";
import type { Limit, Pause, Queue } from "@/lib/queue/types";
import { definitionKey, id, instant, instantIn, queryInteger, queueName, slug } from "./common";
import { LIMITS } from "./limits";

export type { Limit, Pause, Queue } from "@/lib/queue/types";

const pauseScope = z.enum(PAUSE_SCOPES);

const queueFields = {
  name: z.string(),
  description: z.string(),
  default_priority: z.int(),
  timeout_seconds: z.int().nullable(),
  max_attempts: z.int().nullable(),
  retry_delay_seconds: z.number().nullable(),
  retry_multiplier: z.number().nullable(),
  /** Why the queue starts no jobs at present; null while it is not paused. */
  pause: z.object({ scope: pauseScope, reason: z.string(), since: instant, until: instant.nullable() }).nullable(),
};

/** A queue as its users see it. */
export const tenantQueue = z.object(queueFields);
export type TenantQueue = z.infer<typeof tenantQueue>;
export const tenantQueueList = z.object({ data: z.array(tenantQueue) });

export const queue = z.object({
  id: z.int(),
  ...queueFields,
  weight: z.number(),
  is_active: z.boolean(),
  created_at: instant,
  updated_at: instant,
}) satisfies z.ZodType<Queue>;
export const queueList = z.object({ data: z.array(queue) });

const changeable = {
  description: z.string().max(2000).optional(),
  default_priority: z.int().min(1).max(LIMITS.priorityMax).optional(),
  timeout_seconds: z.int().min(1).max(LIMITS.timeoutSecondsMax).nullable().optional(),
  max_attempts: z.int().min(1).max(LIMITS.maxAttemptsMax).nullable().optional(),
  retry_delay_seconds: z.number().min(0).max(LIMITS.retryDelaySecondsMax).nullable().optional(),
  retry_multiplier: z.number().min(1).max(LIMITS.retryMultiplierMax).nullable().optional(),
  weight: z.number().min(0.01).max(1000).optional(),
  is_active: z.boolean().optional(),
};

/** Body of POST /api/v1/admin/queues. */
export const createQueueBody = z.strictObject({ name: queueName, ...changeable });
/** Body of PATCH …/{queueId}: omitted fields are unchanged; null removes a value. The name never changes. */
export const updateQueueBody = z.strictObject(changeable);
export type UpdateQueue = z.infer<typeof updateQueueBody>;
export const queueParams = z.strictObject({ queueId: queryInteger(1, 2_147_483_647) });

export const pauseView = z.object({
  id,
  scope: pauseScope,
  queue: z.string().nullable(),
  definition_key: z.string().nullable(),
  tenant: z.string().nullable(),
  reason: z.string(),
  since: instant,
  until: instant.nullable(),
  paused_by: id.nullable(),
}) satisfies z.ZodType<Pause>;
export const pauseList = z.object({ data: z.array(pauseView) });

const reason = z.string().trim().min(1, "is required").max(500);
const until = instantIn.optional();

/**
 * Body of POST /api/v1/admin/pause: what is paused, why, and until when. Without `until`, the pause lasts until it is
 * ended.
 */
export const createPause = z.discriminatedUnion("scope", [
  z.strictObject({ scope: z.literal("all"), reason, until }),
  z.strictObject({ scope: z.literal("queue"), queue: queueName, reason, until }),
  z.strictObject({ scope: z.literal("definition"), definition_key: definitionKey, reason, until }),
  z.strictObject({ scope: z.literal("tenant"), tenant: z.union([id, slug]), reason, until }),
]);
export type CreatePause = z.infer<typeof createPause>;
export const pauseParams = z.strictObject({ pauseId: id });

export const limit = z.object({
  id: z.int(),
  scope: z.enum(LIMIT_SCOPES),
  queue: z.string().nullable(),
  definition_key: z.string().nullable(),
  tenant: z.string().nullable(),
  max_running: z.int().nullable(),
  starts_per_second: z.number().nullable(),
  burst: z.int().nullable(),
  limited_at: instant.nullable(),
  limited_by: z.enum(["running", "rate"]).nullable(),
  created_at: instant,
  updated_at: instant,
}) satisfies z.ZodType<Limit>;
export const limitList = z.object({ data: z.array(limit) });

const limitValues = {
  max_running: z.int().min(0).max(1_000_000).nullable().optional(),
  starts_per_second: z.number().min(0.00001).max(1_000_000).nullable().optional(),
  burst: z.int().min(1).max(1_000_000).nullable().optional(),
};
const limitTenant = z.union([id, slug]).optional();

/** Body of POST /api/v1/admin/limits. A tenant scope without `tenant` limits each tenant separately. */
export const createLimitBody = z.discriminatedUnion("scope", [
  z.strictObject({ scope: z.literal("queue"), queue: queueName, ...limitValues }),
  z.strictObject({ scope: z.literal("definition"), definition_key: definitionKey, ...limitValues }),
  z.strictObject({ scope: z.literal("tenant_queue"), queue: queueName, tenant: limitTenant, ...limitValues }),
  z.strictObject({
    scope: z.literal("tenant_definition"),
    definition_key: definitionKey,
    tenant: limitTenant,
    ...limitValues,
  }),
]);
export type CreateLimit = z.infer<typeof createLimitBody>;
/** Body of PATCH …/{limitId}: omitted fields are unchanged; null removes a number. */
export const updateLimitBody = z.strictObject(limitValues);
export type UpdateLimit = z.infer<typeof updateLimitBody>;
export const limitParams = z.strictObject({ limitId: queryInteger(1, 2_147_483_647) });
