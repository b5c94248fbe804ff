import { randomUUID } from "node:crypto";
import type { TenantScope } from "@/lib/queue/testing";
import type { TestDatabase } from "@/lib/testing/database";

export interface ListenerFields {
  readonly eventName?: string;
  readonly label?: string;
  readonly definitionId: string;
  readonly payloadTemplate?: unknown;
  readonly condition?: string | null;
  readonly dedupeKeyTemplate?: string | null;
  readonly dedupeWindowSeconds?: number;
  readonly overlapPolicy?: "allow" | "skip" | "queue_one";
  readonly maxRuns?: number | null;
  readonly queue?: string | null;
  readonly priority?: number | null;
  readonly expiresAt?: string | null;
}

/** Stores an event trigger, even one that the API would refuse. Returns its id. */
export async function listener(
  { query }: TestDatabase,
  { tenantId }: TenantScope,
  fields: ListenerFields,
): Promise<string> {
  const id = randomUUID();
  await query(
    `insert into app.job_triggers (id, tenant_id, label, trigger_type, definition_id, event_name, payload_template, condition,
       dedupe_key_template, dedupe_window_seconds, overlap_policy, max_runs, queue, priority, expires_at)
     values ($1, $2, $3, 'event', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      id,
      tenantId,
      fields.label ?? "listener",
      fields.definitionId,
      fields.eventName ?? "thing.happened",
      JSON.stringify(fields.payloadTemplate ?? {}),
      fields.condition ?? null,
      fields.dedupeKeyTemplate ?? null,
      fields.dedupeWindowSeconds ?? 300,
      fields.overlapPolicy ?? "allow",
      fields.maxRuns ?? null,
      fields.queue ?? null,
      fields.priority ?? null,
      fields.expiresAt ?? null,
    ],
  );
  return id;
}
