import type { Runner } from "@/lib/db";
import type { Actor } from "../types";
import { announceEventSql } from "./events.sql";
import { checkNewEvent } from "./new-event.policy";

/**
 * Stores an event of the application that another role than web's tells of, in the transaction of the caller. The leading
 * scheduler compares it with the tenant's triggers within a second or so.
 * @throws QueueError when it cannot be an event
 */
export async function announceEvent(
  tx: Runner,
  { tenantId, actor }: { readonly tenantId: string; readonly actor: Actor },
  event: { readonly name: string; readonly data: Readonly<Record<string, unknown>> },
): Promise<void> {
  checkNewEvent(event, "");
  await tx.run(announceEventSql, [tenantId, event.name, JSON.stringify(event.data), actor.kind, actor.id]);
}
