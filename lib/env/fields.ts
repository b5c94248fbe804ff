import { z } from "zod";
import { isPostgresUrl, POSTGRES_URL_RULE, SECRET_MIN } from "./process-secrets.mjs";

/** A whole number within bounds, in decimal digits. */
export function wholeNumber(least: number, most: number, fallback: number) {
  return z
    .string()
    .default(String(fallback))
    .refine((text) => /^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most, {
      message: `must be a whole number from ${least} to ${most}`,
    })
    .transform(Number);
}

/** true, false, 1 or 0; nothing else, because the text "no" would otherwise count as true. */
export function flag(fallback: boolean) {
  return z
    .enum(["true", "false", "1", "0"], { error: "must be true, false, 1 or 0" })
    .default(fallback ? "true" : "false")
    .transform((text) => text === "true" || text === "1");
}

/** A comma-separated list; undefined when the variable is not set. */
export const commaList = z
  .string()
  .transform((text) => text.split(",").map((part) => part.trim()))
  .refine((parts) => parts.every((part) => part !== ""), { message: "must be a list separated by commas" })
  .optional();

/** Colon-separated absolute folders; empty when the variable is not set. */
export const folderList = z
  .string()
  .default("/")
  .transform((text) => (text === "/" ? [] : text.split(":")))
  .refine((parts) => parts.every((part) => part.startsWith("/") && part !== "/"), {
    message: "must be absolute folders separated by colons, and not / itself",
  });

/** Comma-separated host names or IPv4 addresses without a port; empty when the variable is not set. */
export const hostList = z
  .string()
  .default(",")
  .transform((text) => (text === "," ? [] : text.split(",").map((part) => part.trim().toLowerCase())))
  .refine((parts) => parts.every((part) => /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(part)), {
    message: "must be host names without a port, separated by commas",
  });

export const secretText = z.string({ error: "is required" }).min(SECRET_MIN, {
  error: `must have at least ${SECRET_MIN} characters`,
});

/** A PostgreSQL URL; `missing` is the message if it is not set. */
export const postgresUrl = (missing: string) =>
  z.string({ error: missing }).refine(isPostgresUrl, { message: POSTGRES_URL_RULE });

export const databaseUrl = postgresUrl("is required");

export const httpOrigin = z
  .string()
  .refine((text) => /^https?:$/.test(parseUrl(text)?.protocol ?? "") && parseUrl(text)?.pathname === "/", {
    message:
      "must be an origin such as https://leasehold.example.com, without a path: Leasehold is served at the root of its host",
  })
  .transform((text) => new URL(text).origin);

const optionalNumber = (least: number, most: number) =>
  z
    .string()
    .refine((text) => /^\d{1,9}(?:\.\d{1,6})?$/.test(text) && Number(text) >= least && Number(text) <= most, {
      message: `must be a number from ${least} to ${most}`,
    })
    .transform(Number)
    .optional();

/** Retry settings of the installation, for jobs whose definition and queue set none. */
export const retryFields = {
  RETRY_DELAY_SECONDS: optionalNumber(0, 86_400),
  RETRY_MULTIPLIER: optionalNumber(1, 10),
  RETRY_MAX_DELAY_SECONDS: optionalNumber(0, 604_800),
};

export function retrySettings(env: { readonly [K in keyof typeof retryFields]?: number | undefined }) {
  return {
    delay_seconds: env.RETRY_DELAY_SECONDS,
    multiplier: env.RETRY_MULTIPLIER,
    max_delay_seconds: env.RETRY_MAX_DELAY_SECONDS,
  };
}

/** Maximum chain depth: how many jobs may cause each other, through events or this API, before the chain is cut. */
export const chainFields = {
  EVENT_MAX_DEPTH: wholeNumber(1, 1000, 8),
};

const MIB = 1024 * 1024;

/** Settings of the processes that start attempts: workers, and web for remote workers. */
export const attemptFields = {
  ...retryFields,
  ...chainFields,
  /** Upper bound of the time limit. */
  MAX_TIMEOUT_SECONDS: wholeNumber(1, 604_800, 86_400),
  /** Maximum bytes that the database keeps. */
  LOG_MAX_BYTES: wholeNumber(0, 1024 * MIB, 10 * MIB),
  ARTIFACT_JOB_MAX_BYTES: wholeNumber(0, 1024 * 1024 * MIB, 64 * MIB),
  ARTIFACT_TENANT_MAX_BYTES: wholeNumber(0, 1024 * 1024 * MIB, 1024 * MIB),
};

export function attemptSettings(env: z.output<z.ZodObject<typeof attemptFields>>) {
  return {
    retry: retrySettings(env),
    eventMaxDepth: env.EVENT_MAX_DEPTH,
    maxTimeoutSeconds: env.MAX_TIMEOUT_SECONDS,
    logMaxBytes: env.LOG_MAX_BYTES,
    artifactQuota: { jobBytes: env.ARTIFACT_JOB_MAX_BYTES, tenantBytes: env.ARTIFACT_TENANT_MAX_BYTES },
  };
}

export const logFields = {
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"], {
      error: "must be trace, debug, info, warn, error, fatal or silent",
    })
    .default("info"),
  LOG_FORMAT: z.enum(["pretty", "json"], { error: "must be pretty or json" }).default("json"),
};

/** How long a drain may take. */
export const shutdownFields = {
  SHUTDOWN_GRACE_SECONDS: wholeNumber(0, 3600, 30),
};

export const listenAddress = z.string().default("127.0.0.1");

/** Where a worker or scheduler answers `/livez` and `/readyz`; port 0 is a free one. */
export const healthFields = {
  HEALTH_PORT: wholeNumber(0, 65_535, 0),
  HOST: listenAddress,
};

function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
