import * as z from "zod";
import { RETRY_CLASSES } from "@/lib/queue/error-classes";
import { EXECUTORS, RETRY_STRATEGIES } from "@/lib/queue/states";
import type { Definition, RetryClasses } from "@/lib/queue/types";
import { definitionKey, id, instant, jsonObject, queueName } from "../common";
import { LIMITS } from "../limits";

export type { Definition, RetryClasses } from "@/lib/queue/types";

export const executor = z.enum(EXECUTORS);

/** A definition's retry settings; null means the class of the error, the queue or the installation decides. */
export const retryPolicy = z.object({
  strategy: z.enum(RETRY_STRATEGIES).nullable(),
  delay_seconds: z.number().nullable(),
  multiplier: z.number().nullable(),
  max_delay_seconds: z.number().nullable(),
  jitter: z.number().nullable(),
});

const delaySeconds = z.number().min(0).max(LIMITS.retryDelaySecondsMax);
const multiplier = z.number().min(1).max(LIMITS.retryMultiplierMax);
const maxDelaySeconds = z.number().min(0).max(LIMITS.timeoutSecondsMax);

const classPolicy = z.strictObject({
  retryable: z.boolean().optional(),
  delay_seconds: delaySeconds.optional(),
  multiplier: multiplier.optional(),
  max_delay_seconds: maxDelaySeconds.optional(),
  /** Can lower the number of a job's attempts, never raise it. */
  max_attempts: z.int().min(1).max(LIMITS.maxAttemptsMax).optional(),
});
const timeoutPolicy = classPolicy.extend({ timeout_multiplier: multiplier.optional() });

/** A definition's retry settings for single error classes. */
export const retryClasses = z
  .strictObject(Object.fromEntries(RETRY_CLASSES.map((name) => [name, classPolicy])) as RetryClassShape)
  .extend({ timeout: timeoutPolicy })
  .partial() satisfies z.ZodType<RetryClasses>;
type RetryClassShape = Record<(typeof RETRY_CLASSES)[number], typeof classPolicy>;

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
  retry_classes: retryClasses,
  dead_letter: z.boolean(),
  is_active: z.boolean(),
  version: z.int(),
  created_at: instant,
  updated_at: instant,
}) satisfies z.ZodType<Definition>;
export const definitionList = z.object({ data: z.array(definition) });

const retryIn = z.strictObject({
  strategy: z.enum(RETRY_STRATEGIES).nullish(),
  delay_seconds: delaySeconds.nullish(),
  multiplier: multiplier.nullish(),
  max_delay_seconds: maxDelaySeconds.nullish(),
  jitter: z.number().min(0).max(1).nullish(),
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
  /** Null: the default of the queue or the installation applies. */
  timeout_seconds: z.int().min(1).max(LIMITS.timeoutSecondsMax).nullish(),
  max_attempts: z.int().min(1).max(LIMITS.maxAttemptsMax).nullish(),
  lease_seconds: z.int().min(5).max(3600).optional(),
  kill_grace_seconds: z.int().min(0).max(300).optional(),
  retry: retryIn.optional(),
  /** Replaces the settings of all classes. */
  retry_classes: retryClasses.optional(),
  dead_letter: z.boolean().optional(),
  is_active: z.boolean().optional(),
};

/** Body of POST /api/v1/admin/jobs/definitions. `command_key` defaults to the key, `queue` to `default`. */
export const createDefinitionBody = z.strictObject({ key: definitionKey, ...changeable });
export type CreateDefinition = z.infer<typeof createDefinitionBody>;

/** Body of PATCH …/{definitionId}: omitted fields are unchanged. The key of a definition never changes. */
export const updateDefinitionBody = z.strictObject(changeable);
export type UpdateDefinition = z.infer<typeof updateDefinitionBody>;

export const definitionParams = z.strictObject({ definitionId: id });
