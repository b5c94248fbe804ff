import { z } from "zod";
import { RETRY_CLASSES } from "@/lib/queue/error-classes";

const common = {
  /** The payload property with the value; default: the placeholder's own name. */
  from: z.string().min(1).optional(),
  /** An element whose optional value is absent (or null) is omitted from argv. */
  optional: z.boolean().optional(),
};

const placeholderSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("int"), min: z.int().optional(), max: z.int().optional(), ...common }),
  z.strictObject({ type: z.literal("enum"), values: z.array(z.string().min(1)).min(1), ...common }),
  z.strictObject({ type: z.literal("slug"), ...common }),
  z.strictObject({ type: z.literal("uuid"), ...common }),
  z.strictObject({ type: z.literal("date"), ...common }),
  /** A file in the job's own working folder. */
  z.strictObject({ type: z.literal("file"), ...common }),
  /** A path below some root; only its form is checked. */
  z.strictObject({ type: z.literal("relative_path"), ...common }),
  /** A file or folder in a folder that is registered for the tenant, which the command inherits open. */
  z.strictObject({
    type: z.literal("provider_path"),
    provider_from: z.string().min(1).default("provider_id"),
    /** Default: the provider's folder itself. */
    path_from: z.string().min(1).optional(),
    expect: z.enum(["file", "folder"]).optional(),
    /** The command may write there, as far as its user may. */
    writable: z.boolean().default(false),
  }),
  /** Any text; for environment variables only. */
  z.strictObject({ type: z.literal("text"), max_length: z.int().min(1).max(65_536).default(4096), ...common }),
]);

const limitsSchema = z.strictObject({
  cpu_seconds: z.int().min(1).optional(),
  /** Address space. Too low a value keeps a runtime like Node from starting at all. */
  memory_mb: z.int().min(16).optional(),
  /**
   * Memory of all processes together. Default: `memory_mb`, or else half of the memory of the machine or the container.
   */
  total_memory_mb: z.int().min(16).optional(),
  file_size_mb: z.int().min(1).default(1024),
  open_files: z.int().min(16).default(1024),
  /** Processes and threads of the commands' user. Without a separate user, limited only when set here. */
  processes: z.int().min(8).optional(),
});

const exitCodeSchema = z.union([
  z.enum(RETRY_CLASSES),
  z.strictObject({
    error: z.enum(RETRY_CLASSES),
    retryable: z.boolean().optional(),
    /** The next attempt waits at least this long. */
    retry_after_seconds: z.number().min(0).max(604_800).optional(),
    message: z.string().max(500).optional(),
  }),
]);

const NAME = /^[a-z][a-z0-9_]{0,63}$/;

export const commandSchema = z
  .strictObject({
    description: z.string().max(2000).default(""),
    /** An executable file, by absolute path. */
    binary: z.string().optional(),
    /** A script below the folder of the registry, run by the worker's own Node. */
    script: z.string().optional(),
    argv: z.array(z.string()).max(1000).default([]),
    placeholders: z.record(z.string().regex(NAME), placeholderSchema).default({}),
    /** Variables beside the standard ones: constants, or one whole `{placeholder}`. */
    env: z.record(z.string().regex(/^[A-Z_][A-Z0-9_]{0,63}$/), z.string()).default({}),
    /** `payload`: the arguments as JSON on standard input, including those that no placeholder uses. */
    stdin: z.enum(["none", "payload"]).default("none"),
    limits: limitsSchema.default({ file_size_mb: 1024, open_files: 1024 }),
    exit_codes: z
      .record(z.string().regex(/^(?:[1-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$/), exitCodeSchema)
      .default({}),
  })
  .refine((entry) => (entry.binary === undefined) !== (entry.script === undefined), {
    message: "exactly one of binary and script is needed",
  });

export const KEY = /^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$/;

export type CommandSpec = z.infer<typeof commandSchema>;
export type PlaceholderSpec = z.infer<typeof placeholderSchema>;
