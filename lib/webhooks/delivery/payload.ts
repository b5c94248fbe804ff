import { z } from "zod";

const TYPE = /^[A-Za-z0-9]([A-Za-z0-9._:/-]{0,198}[A-Za-z0-9])?$/;

/**
 * The payload of a job that delivers a webhook. The last two properties are set when a message is sent again, so that
 * it stays the same.
 */
export const webhookPayload = z.strictObject({
  endpoint_id: z.guid().describe("The webhook endpoint"),
  type: z.string().regex(TYPE).describe("The message type, such as order.paid"),
  data: z.unknown().describe("Anything"),
  message_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .optional(),
  timestamp: z
    .string()
    .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    .optional(),
});
export type WebhookPayload = z.infer<typeof webhookPayload>;

/** A message as its receiver sees it: the same in every attempt, and when it is sent again. */
export interface Message {
  readonly id: string;
  readonly type: string;
  /** The bytes that are signed and sent. */
  readonly body: string;
}

/** The schedule's instant for which a job was made. */
export interface FiredInstant {
  readonly triggerId: string;
  readonly at: Date;
}

/**
 * Returns the message of a job. A job made by a schedule gets its message id from trigger and instant, so the receiver
 * sees the same id even if a restored database fires the instant again.
 */
export function messageOf(
  payload: WebhookPayload,
  job: { readonly id: string; readonly queuedAt: Date; readonly fired?: FiredInstant | null },
): Message {
  const { type, data } = payload;
  const timestamp = payload.timestamp ?? (job.fired?.at ?? job.queuedAt).toISOString();
  return { id: payload.message_id ?? ownId(job), type, body: JSON.stringify({ type, timestamp, data }) };
}

const ownId = ({ id, fired }: { readonly id: string; readonly fired?: FiredInstant | null }): string =>
  fired ? `msg_${fired.triggerId}_${fired.at.getTime()}` : `msg_${id}`;
