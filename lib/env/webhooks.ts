import { z } from "zod";
import { flag } from "./fields";
import { EnvironmentError } from "./read";

const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|localhost|\[::1\]):(?:\*|[1-9]\d{0,4})$/;

/** Webhook targets that are allowed for development and tests. */
export const webhookFields = {
  WEBHOOK_LOOPBACK: z
    .string()
    .transform((text) => text.split(",").map((part) => part.trim()))
    .refine((parts) => parts.every((part) => LOOPBACK.test(part)), {
      message: "must be a list such as 127.0.0.1:8080,localhost:*",
    })
    .optional(),
  WEBHOOK_ALLOW_HTTP: flag(false),
  WEBHOOK_UNSAFE_IN_PRODUCTION: flag(false),
  NODE_ENV: z.string().optional(),
};

interface WebhookVariables {
  readonly WEBHOOK_LOOPBACK?: string[] | undefined;
  readonly WEBHOOK_ALLOW_HTTP: boolean;
  readonly WEBHOOK_UNSAFE_IN_PRODUCTION: boolean;
  readonly NODE_ENV?: string | undefined;
}

/**
 * Returns the rules for webhook addresses. In production, exceptions abort the start unless a second variable allows
 * them, because a setting left over from a developer's machine must not open a server's network.
 * @throws EnvironmentError
 */
export function webhookPolicy(env: WebhookVariables) {
  const loopback = (env.WEBHOOK_LOOPBACK ?? []).map((place) => place.replace(/^\[(.*)\]/, "$1"));
  const isUnsafe = loopback.length > 0 || env.WEBHOOK_ALLOW_HTTP;
  if (isUnsafe && env.NODE_ENV === "production" && !env.WEBHOOK_UNSAFE_IN_PRODUCTION) {
    throw new EnvironmentError([
      "WEBHOOK_LOOPBACK and WEBHOOK_ALLOW_HTTP are for development (NODE_ENV is production; to do it anyway set WEBHOOK_UNSAFE_IN_PRODUCTION=true)",
    ]);
  }
  return { loopback, allowHttp: env.WEBHOOK_ALLOW_HTTP };
}
