import type { Command } from "../registry/registry";
import type { Element } from "../registry/template";
import { ArgumentError, sourcesOf, textOf, type ValueContext } from "./values";

export interface BuiltArguments {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Puts validated values into a command's template: one placeholder becomes one element, whatever the value contains.
 * @throws JobError for a value that is missing, malformed, or not used by the template
 */
export async function buildArguments(command: Command, ctx: ValueContext): Promise<BuiltArguments> {
  refuseUnused(command, ctx.args);
  const values = new Map<string, string | null>();
  for (const [name, placeholder] of Object.entries(command.spec.placeholders)) {
    values.set(name, await textOf(name, placeholder, ctx));
  }
  const env: Record<string, string> = {};
  for (const [name, element] of command.template.env) {
    const text = fill(element, values);
    if (text !== null) env[name] = text;
  }
  const argv = command.template.argv.map((element) => fill(element, values)).filter((text) => text !== null);
  return { argv, env };
}

function fill(element: Element, values: ReadonlyMap<string, string | null>): string | null {
  if (element.kind === "constant") return element.text;
  const value = values.get(element.placeholder) ?? null;
  return value === null ? null : element.prefix + value;
}

function refuseUnused({ spec }: Command, args: Readonly<Record<string, unknown>>): void {
  if (spec.stdin === "payload") return;
  const used = new Set(
    Object.entries(spec.placeholders).flatMap(([name, placeholder]) => sourcesOf(name, placeholder)),
  );
  const unused = Object.keys(args).find((name) => !used.has(name));
  if (unused !== undefined) throw new ArgumentError(JSON.stringify(unused.slice(0, 64)), "is not used by the command");
}

// Limits of Linux: 128 KiB for one string, and (with the usual stack limit) 2 MiB for all, of which some is kept free.
const MOST_BYTES_OF_ONE = 131_072;
const MOST_BYTES_OF_ALL = 1_900_000;
const POINTER_BYTES = 8;

/** Checks sizes before a spawn. @throws ArgumentError if the kernel would refuse the arguments or environment */
export function checkSize(argv: readonly string[], env: Readonly<Record<string, string>>): void {
  let total = 0;
  const strings = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  for (const text of strings) {
    const size = Buffer.byteLength(text) + 1;
    if (size > MOST_BYTES_OF_ONE)
      throw new ArgumentError("list", `one argument is larger than ${MOST_BYTES_OF_ONE} bytes`);
    total += size + POINTER_BYTES;
  }
  if (total > MOST_BYTES_OF_ALL)
    throw new ArgumentError("list", `all arguments together are larger than ${MOST_BYTES_OF_ALL} bytes`);
}
