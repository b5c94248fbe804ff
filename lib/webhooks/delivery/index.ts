/** Delivers webhooks: signed messages to addresses of tenants, which may be anything. Knows no database. */
export { type Delivered, type Delivery, type DeliveryTools, deliver } from "./deliver";
export { type HeaderProblem, headerProblems } from "./headers";
export { isGone, WEBHOOK_ATTEMPTS, WEBHOOK_LONGEST_DELAY, webhookOutcome } from "./outcome";
export { type FiredInstant, type Message, messageOf, type WebhookPayload, webhookPayload } from "./payload";
export type { WebhookLimits, WebhookPolicy } from "./policy";
export { checkTarget } from "./resolve";
export { type Answer, type Post, post } from "./send";
export { newWebhookSecret } from "./signature";
export type { Refusal } from "./target";
