import { type JobHandler, jsonSchemaOf } from "@/lib/execution";
import { findSimilar } from "./handlers/find-similar";
import { importCsv } from "./handlers/import-csv";
import { folderPayload } from "./handlers/payloads";
import { syncFolder } from "./handlers/sync-folder";

/** The handlers of this installation, by key. To add one: write it in `handlers/`, list it here. */
export const handlers: ReadonlyMap<string, JobHandler> = new Map(
  [syncFolder, importCsv, findSimilar].map((handler) => [handler.key, handler]),
);

/** A definition as it is put into a new installation. */
export interface BuiltinDefinition {
  readonly key: string;
  readonly description: string;
  readonly executor: "command" | "handler";
  readonly command_key: string | null;
  readonly arg_schema: Readonly<Record<string, unknown>>;
  readonly timeout_seconds: number;
  readonly max_attempts: number;
}

const TIMEOUT_SECONDS = 3600;
const MAX_ATTEMPTS = 3;

/** What the seed makes definitions of; the super admin can change and add to them later. */
export const builtinDefinitions: readonly BuiltinDefinition[] = [
  ...[...handlers.values()].map(ofHandler),
  {
    key: "checksum-report",
    description: "Prints the SHA-256 of every file of a registered folder, in the form that sha256sum -c accepts.",
    executor: "command",
    command_key: "checksum-report",
    arg_schema: jsonSchemaOf(folderPayload),
    timeout_seconds: TIMEOUT_SECONDS,
    max_attempts: MAX_ATTEMPTS,
  },
];

function ofHandler({ key, defaults, argSchema }: JobHandler): BuiltinDefinition {
  return {
    key,
    description: defaults.description ?? "",
    executor: "handler",
    command_key: null,
    arg_schema: argSchema,
    timeout_seconds: defaults.timeoutSeconds ?? TIMEOUT_SECONDS,
    max_attempts: defaults.maxAttempts ?? MAX_ATTEMPTS,
  };
}
