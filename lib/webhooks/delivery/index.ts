/**
 * Delivers webhooks: signs messages and posts them to addresses that tenants choose. Start with deliver-message.ts, then
 * send.ts.
 *
 * Assumes hostile receivers: connects to public addresses only (policy.ts has the exceptions), follows no redirects,
 * and limits time, bytes and interim answers. Never rejects; a failure has a code that decides about retries
 * (outcome.ts). Knows no database.
 */
export { type Delivered, type Delivery, type DeliveryTools, deliverMessage } from "./deliver-message";
export { type HeaderProblem, headerProblems } from "./headers";
export { isGone, WEBHOOK_ATTEMPTS, WEBHOOK_LONGEST_DELAY, webhookOutcome } from "./outcome";
export { type FiredInstant, type Message, messageOf, type WebhookPayload, webhookPayload } from "./payload";
export type { WebhookLimits, WebhookPolicy } from "./policy";
export { checkTarget } from "./resolve";
export { type Post, post, type ReceiverAnswer } from "./send";
export { newWebhookSecret } from "./signature";
export type { TargetRefusal } from "./target";
