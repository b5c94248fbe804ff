import type { Database } from "@/lib/db";
import { createTrigger, listTriggers, SYSTEM, type TenantScope, type TriggerInput } from "@/lib/queue";

interface DemoTenant {
  readonly tenantId: string;
  /** The sample folder. */
  readonly providerId: string;
}

/** Placeholder for the id of an endpoint; the trigger is disabled until it is replaced. */
const NO_ENDPOINT = "00000000-0000-0000-0000-000000000000";

const triggersOf = (providerId: string): TriggerInput[] => [
  {
    label: "Weekly checksum report",
    trigger_type: "schedule",
    is_enabled: false,
    cron_expr: "30 6 * * MON",
    timezone: "Europe/Berlin",
    definition_key: "checksum-report",
    payload_template: { provider_id: providerId },
  },
  {
    label: "Nightly folder sync",
    trigger_type: "schedule",
    cron_expr: "0 2 * * *",
    timezone: "America/New_York",
    definition_key: "sync-folder",
    payload_template: { provider_id: providerId },
  },
  {
    label: "Sync a folder that changed",
    trigger_type: "event",
    event_name: "provider.folder.updated",
    overlap_policy: "queue_one",
    dedupe_window_seconds: 0,
    definition_key: "sync-folder",
    payload_template: { provider_id: "{{event.provider_id}}", path_prefix: "{{event.folder_path}}" },
  },
  {
    label: "Send new images to a webhook (needs the id of an endpoint)",
    trigger_type: "event",
    is_enabled: false,
    event_name: "images.ingest.completed",
    definition_key: "deliver-webhook",
    payload_template: {
      endpoint_id: NO_ENDPOINT,
      type: "images.ingest.completed",
      data: {
        provider_id: "{{event.provider_id}}",
        images_added: "{{event.images_added}}",
        correlation_id: "{{meta.correlation_id}}",
      },
    },
  },
];

/**
 * Creates a demo tenant's triggers, unless the tenant has triggers: changes made since then stay. `web` is the web
 * role's pool.
 */
export async function seedTriggers(web: Database, { tenantId, providerId }: DemoTenant): Promise<void> {
  const scope: TenantScope = { tenantId, actor: SYSTEM };
  const { total } = await listTriggers(web, scope, {}, { limit: 1 });
  if (total > 0) return;
  for (const trigger of triggersOf(providerId)) await createTrigger(web, scope, trigger);
}
