import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;

/** Returns a new endpoint secret in the format of Standard Webhooks. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString("base64");

export interface SignedMessage {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  /** Exactly the body that is sent. */
  readonly body: string;
}

/** Returns the header `webhook-signature`: one signature for each secret that is valid now. */
export function signatureHeader(secrets: readonly string[], { id, timestamp, body }: SignedMessage): string {
  const signed = Buffer.from(`${id}.${timestamp}.${body}`);
  return secrets
    .map((secret) => Buffer.from(secret.slice(PREFIX.length), "base64"))
    .map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`)
    .join(" ");
}
