import { parseSteps } from "../dependencies/result-path.policy";
import { checkPayload, PAYLOAD_LIMITS } from "../enqueue/payload-check.policy";
import type { FieldProblem, TriggerKind } from "../types";
import {
  type Binding,
  pointerTo,
  type ScannedTemplate,
  scanTemplate,
  shown,
  type TemplatePath,
} from "./template-parts.policy";
import { sizeOfValue } from "./value-size.policy";

/** A validated template: its source, and where the values of its placeholders go. */
export interface TriggerTemplate {
  readonly source: unknown;
  /** Length of the source as JSON. */
  readonly characters: number;
  readonly bindings: readonly Binding[];
  /** The positions of the bindings, as a tree from the root. */
  readonly tree: BindingTree;
}

/** A position in a template: the index of its binding, or the positions inside it by name. */
interface BindingTree {
  binding?: number;
  readonly inside: Map<string, BindingTree>;
}

/** An event's metadata. */
export interface EventMeta {
  readonly id: string;
  readonly name: string;
  /** RFC 3339, UTC. */
  readonly received_at: string;
  readonly producer_id: string | null;
  readonly correlation_id: string | null;
  readonly source: string;
}

interface TriggerName {
  readonly id: string;
  readonly label: string;
}

/** The context of an event trigger's placeholders; `event` is the event's data. */
export interface EventContext {
  readonly event: unknown;
  readonly meta: EventMeta;
  readonly trigger: TriggerName;
}

/** The context of a schedule trigger's placeholders. Times are RFC 3339. */
export interface ScheduleContext {
  readonly schedule: {
    readonly at: string;
    readonly local: string;
    readonly trigger_id: string;
    readonly label: string;
  };
  readonly trigger: TriggerName;
}

export type TemplateContext = EventContext | ScheduleContext;

/**
 * The rendered payload with its approximate length as JSON, or why rendering failed. Pointers are into the template.
 */
export type Rendered =
  | { readonly payload: unknown; readonly characters: number }
  | { readonly problems: readonly FieldProblem[] };

/** The fields allowed after the first word of a path; null = any fields. */
const ROOTS: Readonly<Record<TriggerKind, Readonly<Record<string, readonly string[] | null>>>> = {
  event: {
    event: null,
    meta: ["id", "name", "received_at", "producer_id", "correlation_id", "source"],
    trigger: ["id", "label"],
  },
  schedule: { schedule: ["at", "local", "trigger_id", "label"], trigger: ["id", "label"] },
};

/** The most characters of all values of one rendering: more than any payload may have, and little memory. */
const RENDERED_MAX_CHARACTERS = 512 * 1024;
const MOST_PROBLEMS = 10;

/**
 * Validates a payload template, or returns its problems by pointers into it. An event trigger's placeholders may name
 * `event` (its data), `meta` and `trigger`; a schedule trigger's `schedule` and `trigger`.
 */
export function compileTriggerTemplate(
  template: unknown,
  kind: TriggerKind,
): { readonly template: TriggerTemplate } | { readonly problems: readonly FieldProblem[] } {
  const unstorable = checkPayload(template);
  if (unstorable.length > 0) return { problems: unstorable };
  // The template as it will be stored: a Date becomes its ISO string.
  const json = JSON.stringify(template);
  const source = JSON.parse(json) as unknown;
  const { bindings, problems }: ScannedTemplate = scanTemplate(source, (path) => readPath(path, kind));
  if (problems.length > 0) return { problems };
  return { template: { source, characters: json.length, bindings, tree: bindingTree(bindings) } };
}

function bindingTree(bindings: readonly Binding[]): BindingTree {
  const root: BindingTree = { inside: new Map() };
  for (const [binding, { at }] of bindings.entries()) {
    let node = root;
    for (const step of at) {
      const next = node.inside.get(step) ?? { inside: new Map() };
      node.inside.set(step, next);
      node = next;
    }
    node.binding = binding;
  }
  return root;
}

function readPath(path: string, kind: TriggerKind): TemplatePath | string {
  const [, root = "", rest = ""] = /^([A-Za-z0-9_-]*)(.*)$/s.exec(path) ?? [];
  const roots = ROOTS[kind];
  if (!Object.hasOwn(roots, root)) return `reads something other than ${Object.keys(roots).join(", ")}: ${shown(path)}`;
  const steps = parseSteps(rest);
  if (!steps) return `has a path that is not ${root} followed by .name and [index] steps`;
  const fields = roots[root];
  if (fields && !(steps.length === 0 || (steps.length === 1 && fields.includes(steps[0] ?? ""))))
    return `names none of ${fields.map((field) => `${root}.${field}`).join(", ")}: ${shown(path)}`;
  return { name: path, steps: [root, ...steps] };
}

/**
 * Renders a template: puts the values of a context in the places of their placeholders. Placeholders inside
 * values are not rendered.
 * A missing value without a default is a problem; the first ten are returned. null, false, 0 and "" are not missing. An
 * oversized result is rejected before any of it is made into text, so many such templates cost little. The payload
 * shares parts with template and context and must not be changed.
 */
export function renderTriggerTemplate(template: TriggerTemplate, context: TemplateContext): Rendered {
  const found = findValues(template, context, RENDERED_MAX_CHARACTERS);
  if ("problems" in found) return found;
  const values = template.bindings.map(({ whole }, index) => {
    const parts = found.values[index] ?? [];
    return whole ? parts[0] : parts.map(asText).join("");
  });
  const payload = fill(template.source, template.tree, values);
  return { payload, characters: template.characters + found.characters };
}

/**
 * Renders a template that is one text; a value that is not a text becomes its JSON. A text over `mostCharacters` is not
 * built; its length is returned instead.
 */
export function renderTriggerText(
  template: TriggerTemplate,
  context: TemplateContext,
  mostCharacters: number,
): { readonly text: string } | { readonly tooLong: number } | { readonly problems: readonly FieldProblem[] } {
  const found = findValues(template, context, RENDERED_MAX_CHARACTERS);
  if ("problems" in found) return found;
  if (template.bindings.length === 1 && found.characters > mostCharacters) return { tooLong: found.characters };
  const rendered = renderTriggerTemplate(template, context);
  return "problems" in rendered ? rendered : { text: asText(rendered.payload) };
}

type Found =
  /** The values of each binding's parts. */
  | { readonly values: readonly (readonly unknown[])[]; readonly characters: number }
  | { readonly problems: readonly FieldProblem[] };

function findValues(template: TriggerTemplate, context: TemplateContext, mostCharacters: number): Found {
  const problems: FieldProblem[] = [];
  const values: unknown[][] = [];
  let [characters, count] = [0, 0];
  for (const { at, whole, parts } of template.bindings) {
    const ofBinding: unknown[] = [];
    for (const part of parts) {
      const found = "text" in part ? { value: part.text } : (lookUp(context, part.steps) ?? fallbackOf(part));
      if (found) {
        ofBinding.push(found.value);
        const size = sizeOfValue(found.value);
        characters += size.characters;
        count += whole ? size.values : 0;
      } else if ("name" in part) {
        problems.push({ pointer: pointerTo(at), code: "template", detail: `there is no value at ${shown(part.name)}` });
      }
      if (characters > mostCharacters) return { problems: [TOO_LARGE] };
      if (count > PAYLOAD_LIMITS.maxNodes) return { problems: [TOO_MANY_VALUES] };
      if (problems.length >= MOST_PROBLEMS) return { problems };
    }
    values.push(ofBinding);
  }
  return problems.length > 0 ? { problems } : { values, characters };
}

const TOO_LARGE: FieldProblem = { pointer: "", code: "too-large", detail: "would be larger than a payload may be" };
const TOO_MANY_VALUES: FieldProblem = {
  pointer: "",
  code: "too-many-nodes",
  detail: `has more than ${PAYLOAD_LIMITS.maxNodes} values`,
};

const fallbackOf = (part: object): { readonly value: unknown } | null =>
  "default" in part ? { value: part.default } : null;

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const INDEX = /^(?:0|[1-9][0-9]{0,5})$/;

/** Looks up a path. Follows own properties and list entries only. */
function lookUp(context: TemplateContext, steps: readonly string[]): { readonly value: unknown } | null {
  let value: unknown = context;
  for (const step of steps) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return null;
    if (Array.isArray(value) && !INDEX.test(step)) return null;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value === undefined ? null : { value };
}

/**
 * Returns the template with values in their places. Parts without a placeholder are not copied. The depth was
 * validated before.
 */
function fill(source: unknown, tree: BindingTree | undefined, values: readonly unknown[]): unknown {
  if (tree === undefined) return source;
  if (tree.binding !== undefined) return values[tree.binding];
  if (Array.isArray(source)) return source.map((item, index) => fill(item, tree.inside.get(String(index)), values));
  if (typeof source !== "object" || source === null) return source;
  // An assignment to `__proto__` would not create a property.
  return Object.fromEntries(
    Object.entries(source).map(([key, item]) => [key, fill(item, tree.inside.get(key), values)]),
  );
}
