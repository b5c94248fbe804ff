import { lstat, realpath } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { JobError } from "../errors";
import { expectKind, normalizeRelative } from "../paths";
import type { PlaceholderSpec } from "../registry/schema";
import type { OpenedPath, RunContext } from "../types";
import { isWellFormed } from "../unicode";

export interface ValueContext {
  readonly args: Readonly<Record<string, unknown>>;
  /** The job's own working folder. */
  readonly folder: string;
  readonly openProviderPath: RunContext["openProviderPath"];
  /** Keeps a path open until the command has ended, and returns the path by which the command reaches it. */
  readonly inherit: (opened: OpenedPath, options: { readonly isWritable: boolean }) => string;
}

const SLUG = /^[A-Za-z0-9][A-Za-z0-9._@/-]{0,127}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A value that its placeholder does not accept. The message names the argument and the rule, never the value. */
export class ArgumentError extends JobError {
  override readonly name = "ArgumentError";

  constructor(argument: string, rule: string) {
    super(`argument ${argument}: ${rule}`, { errorType: "invalid_input" });
  }
}

/** Returns the payload properties that a placeholder reads. */
export function sourcesOf(name: string, placeholder: PlaceholderSpec): string[] {
  if (placeholder.type !== "provider_path") return [placeholder.from ?? name];
  return [placeholder.provider_from, ...(placeholder.path_from ? [placeholder.path_from] : [])];
}

/**
 * Returns the text for one placeholder, or null when an optional value is absent. @throws JobError for an invalid value
 */
export async function textOf(name: string, placeholder: PlaceholderSpec, ctx: ValueContext): Promise<string | null> {
  if (placeholder.type === "provider_path") return providerPath(placeholder, ctx);
  const source = placeholder.from ?? name;
  const value = own(ctx.args, source);
  if (value === undefined || value === null) {
    if (placeholder.optional) return null;
    throw new ArgumentError(source, "is missing");
  }
  if (placeholder.type === "int") return integer(source, value, placeholder);
  if (typeof value !== "string") throw new ArgumentError(source, "must be a string");
  if (value.includes("\0")) throw new ArgumentError(source, "holds a NUL character");
  if (!isWellFormed(value)) throw new ArgumentError(source, "contains an invalid character");
  return placeholder.type === "file" ? fileInFolder(source, value, ctx.folder) : text(source, value, placeholder);
}

function own(args: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}

function integer(
  source: string,
  value: unknown,
  { min, max }: { min?: number | undefined; max?: number | undefined },
): string {
  if (typeof value !== "number" || !Number.isSafeInteger(value))
    throw new ArgumentError(source, "must be a whole number");
  if (min !== undefined && value < min) throw new ArgumentError(source, `must be at least ${min}`);
  if (max !== undefined && value > max) throw new ArgumentError(source, `must be at most ${max}`);
  return String(value === 0 ? 0 : value);
}

type TextPlaceholder = Exclude<PlaceholderSpec, { type: "int" | "file" | "provider_path" }>;

function text(source: string, value: string, placeholder: TextPlaceholder): string {
  switch (placeholder.type) {
    case "enum":
      if (!placeholder.values.includes(value)) throw new ArgumentError(source, "must be one of the listed values");
      return value;
    case "slug":
      if (!SLUG.test(value) || value.split("/").includes("..")) throw new ArgumentError(source, "must be a plain name");
      return value;
    case "uuid":
      if (!UUID.test(value)) throw new ArgumentError(source, "must be a UUID");
      return value.toLowerCase();
    case "date":
      if (!isDate(value)) throw new ArgumentError(source, "must be a date (YYYY-MM-DD)");
      return value;
    case "relative_path":
      return normalizeRelative(value);
    case "text":
      if (value.length > placeholder.max_length)
        throw new ArgumentError(source, `must have at most ${placeholder.max_length} characters`);
      return value;
  }
}

function isDate(value: string): boolean {
  if (!DATE.test(value)) return false;
  const time = Date.parse(`${value}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

async function fileInFolder(source: string, value: string, folder: string): Promise<string> {
  const parts = value.split("/");
  if (value === "" || isAbsolute(value) || parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new ArgumentError(source, "must be a path inside the job's folder");
  }
  let path = await realpath(folder);
  for (const part of parts) {
    path = join(path, part);
    const info = await lstat(path).catch(() => null);
    if (info?.isSymbolicLink()) throw new ArgumentError(source, "must not pass through a symbolic link");
  }
  return path;
}

type ProviderPath = Extract<PlaceholderSpec, { type: "provider_path" }>;

async function providerPath(placeholder: ProviderPath, ctx: ValueContext): Promise<string> {
  const providerId = own(ctx.args, placeholder.provider_from);
  if (typeof providerId !== "string" || !UUID.test(providerId))
    throw new ArgumentError(placeholder.provider_from, "must be a UUID");
  const given = placeholder.path_from === undefined ? "" : (own(ctx.args, placeholder.path_from) ?? "");
  if (typeof given !== "string") throw new ArgumentError(placeholder.path_from ?? "", "must be a string");
  const opened = await ctx.openProviderPath(providerId, normalizeRelative(given));
  const path = ctx.inherit(opened, { isWritable: placeholder.writable });
  if (placeholder.expect) expectKind(opened, placeholder.expect);
  return path;
}
