/**
 * The installation's handlers, and the definitions that the seed creates. Start here: to add a handler, write it in
 * `handlers/` and list it in `own`.
 *
 * Attempts of a job may repeat, so handlers write in transactions under their lease, or store results in steps.
 * `scripts/` holds the shipped commands, which run without node_modules.
 */

import { type JobHandler, jsonSchemaOf } from "@/lib/execution";
import type { DefinitionInput } from "@/lib/queue/types";
import { WEBHOOK_ATTEMPTS, WEBHOOK_LONGEST_DELAY, webhookPayload } from "@/lib/webhooks/delivery";
import { findSimilar } from "./handlers/find-similar";
import { importCsv } from "./handlers/import-csv";
import { folderPayload } from "./handlers/payloads";
import { sendEmail } from "./handlers/send-email";
import { syncFolder } from "./handlers/sync-folder";

/** Handlers that come with Leasehold. */
const shipped: readonly JobHandler[] = [syncFolder, importCsv, findSimilar, sendEmail].map((handler) => ({
  ...handler,
  isShipped: true,
}));

/** Handlers of this installation. To add one, write it in `handlers/` and list it here. */
const own: readonly JobHandler[] = [];

/** All handlers, by key. */
export const handlers: ReadonlyMap<string, JobHandler> = new Map(
  [...shipped, ...own].map((handler) => [handler.key, handler]),
);

/** A definition as the seed creates it. */
export interface BuiltinDefinition {
  readonly key: string;
  readonly description: string;
  readonly executor: "command" | "handler" | "webhook";
  readonly command_key: string | null;
  readonly arg_schema: Readonly<Record<string, unknown>>;
  /** Null = the default of the queue or the installation. */
  readonly timeout_seconds: number | null;
  readonly max_attempts: number | null;
  readonly retry?: DefinitionInput["retry"];
  readonly retry_classes?: DefinitionInput["retry_classes"];
}

/** The definitions that the seed creates; a super admin can change and add to them later. */
export const builtinDefinitions: readonly BuiltinDefinition[] = [
  ...[...handlers.values()].map(ofHandler),
  {
    key: "checksum-report",
    description: "Prints the SHA-256 of every file of a registered folder, in the form that sha256sum -c accepts.",
    executor: "command",
    command_key: "checksum-report",
    arg_schema: jsonSchemaOf(folderPayload),
    timeout_seconds: null,
    max_attempts: null,
  },
  {
    key: "deliver-webhook",
    description: "Posts a signed message to one of the tenant's webhook endpoints.",
    executor: "webhook",
    command_key: null,
    arg_schema: jsonSchemaOf(webhookPayload),
    timeout_seconds: 60,
    max_attempts: WEBHOOK_ATTEMPTS,
    // A delivery itself sets the delay of the next attempt. This is the minimum, and no error class ends it sooner.
    retry: { strategy: "fixed", delay_seconds: 4, multiplier: 1, max_delay_seconds: WEBHOOK_LONGEST_DELAY, jitter: 0 },
    retry_classes: {
      transient_network: { max_attempts: WEBHOOK_ATTEMPTS },
      rate_limit: { max_attempts: WEBHOOK_ATTEMPTS },
      timeout: { max_attempts: WEBHOOK_ATTEMPTS },
      database: { max_attempts: WEBHOOK_ATTEMPTS },
      unknown: { max_attempts: WEBHOOK_ATTEMPTS },
    },
  },
];

function ofHandler({ key, defaults, argSchema }: JobHandler): BuiltinDefinition {
  return {
    key,
    description: defaults.description ?? "",
    executor: "handler",
    command_key: null,
    arg_schema: argSchema,
    timeout_seconds: defaults.timeoutSeconds ?? null,
    max_attempts: defaults.maxAttempts ?? null,
  };
}
