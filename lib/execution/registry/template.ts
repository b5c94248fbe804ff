import type { CommandSpec, PlaceholderSpec } from "./schema";

const WHOLE = /^\{([a-z][a-z0-9_]*)\}$/;
const OPTION = /^(--?[A-Za-z][A-Za-z0-9_-]*=)\{([a-z][a-z0-9_]*)\}$/;

/** One element of argv: a constant, or one value, with the option that it belongs to as prefix. */
export type Element =
  | { readonly kind: "constant"; readonly text: string }
  | { readonly kind: "value"; readonly prefix: string; readonly placeholder: string };

export interface CommandTemplate {
  readonly argv: readonly Element[];
  readonly env: readonly (readonly [name: string, element: Element])[];
}

/** A template in which a value could act as something else; the message says where. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

/** Parses the templates of an entry. @throws TemplateError if a template is not safe for every value */
export function parseTemplate(spec: CommandSpec): CommandTemplate {
  const argv = spec.argv.map((text, index) => parseElement(text, `argv[${index}]`));
  const env = Object.entries(spec.env).map(([name, text]) => [name, parseEnvironment(name, text)] as const);
  const used = new Set<string>();
  argv.forEach((element, index) => {
    checkArgument(spec, argv, index);
    if (element.kind === "value") used.add(element.placeholder);
  });
  for (const [name, element] of env) {
    if (element.kind !== "value") continue;
    placeholderOf(spec, element.placeholder, `env.${name}`);
    used.add(element.placeholder);
  }
  const unused = Object.keys(spec.placeholders).find((name) => !used.has(name));
  if (unused) throw new TemplateError(`placeholders.${unused} is used nowhere`);
  return { argv, env };
}

function parseElement(text: string, where: string): Element {
  if (text.includes("\u0000")) throw new TemplateError(`${where} holds a NUL character`);
  const whole = WHOLE.exec(text);
  if (whole?.[1]) return { kind: "value", prefix: "", placeholder: whole[1] };
  const option = OPTION.exec(text);
  if (option?.[1] && option[2]) return { kind: "value", prefix: option[1], placeholder: option[2] };
  if (/[{}]/.test(text)) {
    throw new TemplateError(`${where} must be a constant without braces, "{name}" or "--option={name}"`);
  }
  return { kind: "constant", text };
}

// Variables that make a program load code, read other settings, or run another program.
const STEERING =
  /^(?:PATH|HOME|IFS|ENV|BASH_ENV|SHELL|SHELLOPTS|EDITOR|VISUAL|PAGER|LESSOPEN)$|^(?:LD|DYLD|GIT|NODE|NPM|PYTHON|PERL5?|RUBY|GEM|JAVA|JDK|_JAVA|LUA|PHP|MALLOC|GCONV|BUNDLE)(?:_|(?:OPT|LIB|PATH)?$)/;

function parseEnvironment(name: string, text: string): Element {
  const element = parseElement(text, `env.${name}`);
  if (element.kind === "value" && element.prefix !== "")
    throw new TemplateError(`env.${name} must be one whole placeholder`);
  if (element.kind === "value" && STEERING.test(name)) throw new TemplateError(`env.${name} must be a constant`);
  return element;
}

function checkArgument(spec: CommandSpec, argv: readonly Element[], index: number): void {
  const element = argv[index];
  if (element?.kind !== "value") return;
  const where = `argv[${index}]`;
  const placeholder = placeholderOf(spec, element.placeholder, where);
  if (placeholder.type === "text") throw new TemplateError(`${where}: a text may only be given in env`);
  const isAfterDashes = argv.slice(0, index).some((before) => before.kind === "constant" && before.text === "--");
  if (element.prefix === "" && !isAfterDashes && canStartWithDash(placeholder)) {
    throw new TemplateError(
      `${where}: a value that can start with "-" needs "--option={…}" or a constant "--" before it`,
    );
  }
}

function placeholderOf(spec: CommandSpec, name: string, where: string): PlaceholderSpec {
  const placeholder = Object.hasOwn(spec.placeholders, name) ? spec.placeholders[name] : undefined;
  if (!placeholder) throw new TemplateError(`${where} names the placeholder ${name}, which is not declared`);
  return placeholder;
}

function canStartWithDash(placeholder: PlaceholderSpec): boolean {
  switch (placeholder.type) {
    case "int":
      return placeholder.min === undefined || placeholder.min < 0;
    case "enum":
      return placeholder.values.some((value) => value.startsWith("-"));
    case "relative_path":
    case "text":
      return true;
    // Absolute paths, and forms that begin with a letter or digit.
    default:
      return false;
  }
}
