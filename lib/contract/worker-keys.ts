import * as z from "zod";
import { definitionKey, id, instant, queueName, slug } from "./common";
import { LIMITS } from "./limits";

/** Body of POST /api/v1/admin/worker-keys. */
export const createWorkerKey = z.strictObject({
  name: z.string().min(1).max(LIMITS.nameLength),
  /** Remote definitions whose jobs the key may claim. */
  definitions: z.array(definitionKey).min(1).max(LIMITS.workerKeyNamesMax),
  /** Omitted or null: any queue. */
  queues: z.array(queueName).min(1).max(LIMITS.workerKeyNamesMax).nullable().optional(),
  /** Id or slug; omitted or null: any tenant. */
  tenant: z.union([id, slug]).nullable().optional(),
  expires_in_days: z.int().min(1).max(LIMITS.workerKeyDaysMax).default(LIMITS.workerKeyDaysDefault),
});
export type CreateWorkerKey = z.output<typeof createWorkerKey>;

export const workerKey = z.object({
  id,
  name: z.string(),
  /** The last characters of the secret, to distinguish keys. */
  last4: z.string(),
  definitions: z.array(z.string()),
  queues: z.array(z.string()).nullable(),
  tenant_id: id.nullable(),
  tenant_slug: z.string().nullable(),
  created_at: instant,
  expires_at: instant,
  revoked_at: instant.nullable(),
  last_used_at: instant.nullable(),
});
export type WorkerKey = z.infer<typeof workerKey>;

/** The key itself is in the first answer only; a replayed answer has null. */
export const newWorkerKey = workerKey.extend({ key: z.string().nullable() });
export const workerKeyList = z.object({ data: z.array(workerKey) });
export const workerKeyParams = z.strictObject({ keyId: id });
