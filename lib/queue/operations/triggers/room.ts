import type { TenantTransaction } from "@/lib/db";
import { QueueError } from "../../errors";
import { countTriggersOfTenantSql, lockTriggersOfTenantSql, templateBytesOfTenantSql } from "../../sql/triggers";

/** Triggers of one tenant. */
const MOST_TRIGGERS = 1000;
/** Triggers of one tenant on one name of an event: each of them is compared with every such event. */
const MOST_LISTENERS = 200;
/** Most bytes of all payload templates of a tenant: an event, a test or a list may read all of them. */
const MOST_TEMPLATE_BYTES = 4 * 1024 * 1024;
/** A template of this size always has room. */
const SMALL_TEMPLATE_BYTES = MOST_TEMPLATE_BYTES / MOST_TRIGGERS;

/**
 * Refuses one trigger more than a tenant may have, in all (`isNew`) and on the name of an event. A
 * concurrent call for the tenant waits until this transaction is over.
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

/**
 * Refuses a template if all templates of the tenant would be too large with it. One that replaces a larger one has room. A
 * concurrent call for the tenant waits until this transaction is over.
 * @throws QueueError too-many-triggers
 */
export async function requireTemplateRoom(
  tx: TenantTransaction,
  {
    template,
    replaces,
  }: { readonly template: unknown; readonly replaces?: { readonly id: string; readonly template: unknown } },
): Promise<void> {
  const bytes = bytesOf(template);
  if (bytes <= SMALL_TEMPLATE_BYTES || (replaces && bytes <= bytesOf(replaces.template))) return;
  await tx.run(lockTriggersOfTenantSql, [tx.tenantId]);
  const [row] = await tx.run<{ bytes: number }>(templateBytesOfTenantSql, [tx.tenantId, replaces?.id ?? null]);
  if (bytes + (row?.bytes ?? 0) <= MOST_TEMPLATE_BYTES) return;
  const most = MOST_TEMPLATE_BYTES / 1024 / 1024;
  throw new QueueError(
    "too-many-triggers",
    `The payload templates of a tenant's triggers may have ${most} MiB together. Shorten this one, or delete another trigger.`,
  );
}

const bytesOf = (template: unknown): number => Buffer.byteLength(JSON.stringify(template) ?? "");
