import type { TenantTransaction } from "@/lib/db";
import { QueueError } from "../../errors";
import { countTriggersOfTenantSql, lockTriggersOfTenantSql } from "../../sql/triggers";

/** Triggers of one tenant. */
const MOST_TRIGGERS = 1000;
/** Triggers of one tenant on one name of an event: each of them is compared with every such event. */
const MOST_LISTENERS = 200;

/**
 * Refuses one trigger more than a tenant may have, in all (`isNew`) and on the name of an event. Whoever asks at the same
 * time waits until this transaction is over.
 * @throws QueueError too-many-triggers
 */
export async function requireRoom(
  tx: TenantTransaction,
  { eventName, isNew }: { readonly eventName: string | null; readonly isNew: boolean },
): Promise<void> {
  await tx.run(lockTriggersOfTenantSql, [tx.tenantId]);
  const [row] = await tx.run<{ n: number; of_name: number }>(countTriggersOfTenantSql, [tx.tenantId, eventName]);
  const refuse = (message: string) => new QueueError("too-many-triggers", `${message} Delete one first.`);
  if (isNew && (row?.n ?? 0) >= MOST_TRIGGERS) throw refuse(`A tenant has at most ${MOST_TRIGGERS} triggers.`);
  if ((row?.of_name ?? 0) >= MOST_LISTENERS)
    throw refuse(`At most ${MOST_LISTENERS} triggers of a tenant listen to one name of an event.`);
}
