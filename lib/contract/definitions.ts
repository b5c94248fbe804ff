import * as z from "zod";
import { definitionKey, id, instant, jsonObject, queueName } from "./common";
import { LIMITS } from "./limits";

export const EXECUTORS = ["command", "handler"] as const;
export const executor = z.enum(EXECUTORS);
export const RETRY_STRATEGIES = ["exponential", "linear", "fixed", "random", "none"] as const;

export const retryPolicy = z.object({
  strategy: z.enum(RETRY_STRATEGIES),
  delay_seconds: z.number(),
  multiplier: z.number(),
  max_delay_seconds: z.number(),
  jitter: z.number(),
});

export const definition = z.object({
  id,
  key: z.string(),
  description: z.string(),
  executor,
  command_key: z.string().nullable(),
  queue: z.string(),
  arg_schema: jsonObject,
  timeout_seconds: z.int(),
  max_attempts: z.int(),
  lease_seconds: z.int(),
  kill_grace_seconds: z.int(),
  retry: retryPolicy,
  dead_letter: z.boolean(),
  is_active: z.boolean(),
  version: z.int(),
  created_at: instant,
  updated_at: instant,
});
export type Definition = z.infer<typeof definition>;
export const definitionList = z.object({ data: z.array(definition) });

const retryIn = z.strictObject({
  strategy: z.enum(RETRY_STRATEGIES).optional(),
  delay_seconds: z.number().min(0).max(LIMITS.retryDelaySecondsMax).optional(),
  multiplier: z.number().min(1).max(LIMITS.retryMultiplierMax).optional(),
  max_delay_seconds: z.number().min(0).max(LIMITS.timeoutSecondsMax).optional(),
  jitter: z.number().min(0).max(1).optional(),
});

const changeable = {
  description: z.string().max(2000).optional(),
  executor: executor.optional(),
  command_key: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "must be a command key")
    .optional(),
  queue: queueName.optional(),
  arg_schema: jsonObject.optional(),
  timeout_seconds: z.int().min(1).max(LIMITS.timeoutSecondsMax).optional(),
  max_attempts: z.int().min(1).max(LIMITS.maxAttemptsMax).optional(),
  lease_seconds: z.int().min(5).max(3600).optional(),
  kill_grace_seconds: z.int().min(0).max(300).optional(),
  retry: retryIn.optional(),
  dead_letter: z.boolean().optional(),
  is_active: z.boolean().optional(),
};

/** Body of POST /api/v1/admin/jobs/definitions. `command_key` defaults to the key, `queue` to `default`. */
export const createDefinition = z.strictObject({ key: definitionKey, ...changeable });
export type CreateDefinition = z.infer<typeof createDefinition>;

/** Body of PATCH …/{definitionId}: what is not named stays. The key of a definition never changes. */
export const updateDefinition = z.strictObject(changeable);
export type UpdateDefinition = z.infer<typeof updateDefinition>;

export const definitionParams = z.strictObject({ definitionId: id });
