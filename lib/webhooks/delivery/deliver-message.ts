import { formsInTexts } from "@/lib/execution/output/forms-in-texts";
import { LONGEST_PATTERN } from "@/lib/execution/output/patterns";
import { redactText, StreamRedactor } from "@/lib/execution/output/redactor";
import type { SecretForms } from "@/lib/execution/output/secret-forms";
import { cutBytes } from "./cut-text";
import type { Message } from "./payload";
import type { WebhookLimits, WebhookPolicy } from "./policy";
import { type Post, post as postHere, type ReceiverAnswer } from "./send";
import { signatureHeader } from "./signature";

/** How much of a request or an answer is kept, in UTF-8 bytes. */
const KEPT_BYTES = 1024;
/** How much of a text is redacted; more is never kept. */
const READ_CHARACTERS = 2 * KEPT_BYTES;

/** One message for one endpoint. */
export interface Delivery {
  readonly tenantId: string;
  readonly message: Message;
  readonly url: string;
  /** All secrets that are valid now, newest first. */
  readonly secrets: readonly string[];
  /** The endpoint's own headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Leasehold's headers, in addition to the signature's. */
  readonly ownHeaders: Readonly<Record<string, string>>;
}

export interface DeliveryTools {
  readonly policy: WebhookPolicy;
  readonly signal: AbortSignal;
  readonly limits?: WebhookLimits;
  /** Posts the message, such as in a thread; never rejects. Default: in the caller's. */
  readonly post?: (message: Post) => Promise<ReceiverAnswer>;
}

/** The answer, and the texts that are recorded: short, and without secrets. */
export interface Delivered {
  readonly answer: ReceiverAnswer;
  readonly request: string;
  readonly response: string | null;
}

/** Signs a message for this attempt and posts it. Never rejects. */
export async function deliverMessage(delivery: Delivery, tools: DeliveryTools): Promise<Delivered> {
  const { policy, signal, limits, post = postHere } = tools;
  const { tenantId, message, url, secrets, headers, ownHeaders } = delivery;
  const timestamp = Math.floor(Date.now() / 1000);
  const signed = {
    ...ownHeaders,
    "webhook-id": message.id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatureHeader(secrets, { id: message.id, timestamp, body: message.body }),
  };
  const sent = { ...headers, "content-type": "application/json", "user-agent": "Leasehold-Webhook", ...signed };
  const given = { tenantId, url, headers: sent, body: message.body, policy, signal };
  const answer = await post({ ...given, ...(limits ? { limits } : {}) });
  const names = Object.keys(headers).map((name) => `${name.toLowerCase()}: [redacted]`);
  const lines = [`webhook-id: ${message.id}`, `webhook-timestamp: ${timestamp}`, ...names, "", message.body];
  const response = answer.body.toString("utf8");
  const request = lines.join("\n");
  const forms = await formsInTexts(
    [request, response].map((text) => text.slice(0, READ_CHARACTERS)),
    [...secrets, ...Object.values(headers), signed["webhook-signature"]],
    tenantId,
  );
  return {
    answer,
    request: kept(request, forms),
    response: answer.statusCode === null ? null : kept(response, forms),
  };
}

/** Returns the beginning of a text with its secrets masked, even one that the cut splits. */
function kept(text: string, forms: SecretForms): string {
  if (text.length <= READ_CHARACTERS) return cutBytes(redactText(text, forms), KEPT_BYTES);
  const redactor = new StreamRedactor(forms);
  const shown = redactor.push(text.slice(0, READ_CHARACTERS)) + redactor.flush();
  return cutBytes(`${shown.slice(0, -LONGEST_PATTERN)}…`, KEPT_BYTES);
}
