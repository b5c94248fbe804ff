import type { Runner } from "@/lib/db";
import type { Actor } from "../types";
import { announceEventSql } from "./events.sql";
import { checkNewEvent } from "./new-event.policy";

/**
 * Stores an application event for a role other than web, in the caller's transaction. The leading scheduler compares it
 * with the tenant's triggers within a second or so.
 * @throws QueueError if the event is not valid
 */
export async function announceEvent(
  tx: Runner,
  { tenantId, actor }: { readonly tenantId: string; readonly actor: Actor },
  event: { readonly name: string; readonly data: Readonly<Record<string, unknown>> },
): Promise<void> {
  checkNewEvent(event, "");
  await tx.run(announceEventSql, [tenantId, event.name, JSON.stringify(event.data), actor.kind, actor.id]);
}
