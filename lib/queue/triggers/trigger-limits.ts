import type { TenantTransaction } from "@/lib/db";
import { mapInTurns } from "@/lib/turns";
import { PAYLOAD_LIMITS } from "../enqueue/payload-check.policy";
import { QueueError } from "../errors";
import { matchWork } from "../events/event-match.policy";
import { compileTriggerCondition } from "./trigger-condition.policy";
import {
  conditionsOfNameSql,
  countTriggersOfTenantSql,
  lockTriggersOfTenantSql,
  templateBytesOfTenantSql,
} from "./triggers.sql";
import type { TriggerSettings } from "./types";

/** The most triggers of one tenant. */
const MOST_TRIGGERS = 1000;
/** The most triggers of one tenant on one event name, because each of them is compared with every such event. */
const MOST_LISTENERS = 200;
/** The most bytes of all payload templates of a tenant, because an event, a test or a list may read all of them. */
const MOST_TEMPLATE_BYTES = 4 * 1024 * 1024;
/** A template up to this size is always accepted. */
const SMALL_TEMPLATE_BYTES = MOST_TEMPLATE_BYTES / MOST_TRIGGERS;
/**
 * The most work of all conditions on one event name, for the largest event, in the unit of `matchWork`: about a second.
 */
const MOST_WORK = 60_000_000;
/** A condition up to this much work is always accepted. */
const SMALL_WORK = MOST_WORK / MOST_LISTENERS;

/**
 * Rejects a trigger over the tenant's limits: in total (`isNew`) and on one event name. Concurrent calls for the tenant
 * wait until this transaction ends.
 * @throws QueueError too-many-triggers
 */
export async function refuseTooManyTriggers(
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
 * Rejects a template that would exceed the tenant's limit on all templates together. A template that replaces a larger
 * one is always accepted. Concurrent calls for the tenant wait until this transaction ends.
 * @throws QueueError too-many-triggers
 */
export async function refuseTooLargeTemplates(
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

type ListeningPart = Pick<TriggerSettings, "event_name" | "condition">;
type NewCondition = ListeningPart & { readonly replaces?: ListeningPart & { readonly id: string } };

/**
 * Rejects a condition if all triggers on its event name together would read an event too often. A condition that
 * replaces another of the same work or more is always accepted. Concurrent calls for the tenant wait until this
 * transaction ends.
 * @throws QueueError too-many-triggers
 */
export async function refuseTooCostlyConditions(
  tx: TenantTransaction,
  { event_name, condition, replaces }: NewCondition,
): Promise<void> {
  const work = workOnLargestEvent(condition);
  const replaced = replaces && replaces.event_name === event_name ? workOnLargestEvent(replaces.condition) : 0;
  if (work <= Math.max(SMALL_WORK, replaced)) return;
  await tx.run(lockTriggersOfTenantSql, [tx.tenantId]);
  const parameters = [tx.tenantId, event_name, replaces?.id ?? null];
  const rows = await tx.run<{ condition: string }>(conditionsOfNameSql, parameters);
  const others = await mapInTurns(rows, (row) => workOnLargestEvent(row.condition));
  if (others.reduce((sum, other) => sum + other, work) <= MOST_WORK) return;
  throw new QueueError(
    "too-many-triggers",
    "The conditions of the triggers on this name search or measure lists and texts of the event too often. Shorten this condition, or delete another trigger.",
  );
}

/** The work of one condition on the largest event. */
function workOnLargestEvent(text: string | null): number {
  const read = text === null ? null : compileTriggerCondition(text);
  return matchWork({ condition: read && "condition" in read ? read.condition : null }, PAYLOAD_LIMITS.maxBytes);
}

const bytesOf = (template: unknown): number => Buffer.byteLength(JSON.stringify(template) ?? "");
