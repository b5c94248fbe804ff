import type { Database } from "@/lib/db";
import { createTrigger, listTriggers, type TenantScope, type TriggerInput } from "@/lib/queue";

interface DemoTenant {
  readonly tenantId: string;
  /** The sample folder. */
  readonly providerId: string;
}

const triggersOf = (providerId: string): TriggerInput[] => [
  {
    label: "Weekly checksum report",
    triggerType: "schedule",
    isEnabled: false,
    cronExpr: "30 6 * * MON",
    timezone: "Europe/Berlin",
    definitionKey: "checksum-report",
    payloadTemplate: { provider_id: providerId },
  },
  {
    label: "Nightly folder sync",
    triggerType: "schedule",
    cronExpr: "0 2 * * *",
    timezone: "America/New_York",
    definitionKey: "sync-folder",
    payloadTemplate: { provider_id: providerId },
  },
];

/** Gives a tenant of the demo its triggers, once: what somebody has made of them since stays. `web` is the web role's. */
export async function seedTriggers(web: Database, { tenantId, providerId }: DemoTenant): Promise<void> {
  const scope: TenantScope = { tenantId, actor: { kind: "system", id: null, userId: null } };
  const { total } = await listTriggers(web, scope, {}, { limit: 1 });
  if (total > 0) return;
  for (const trigger of triggersOf(providerId)) await createTrigger(web, scope, trigger);
}
