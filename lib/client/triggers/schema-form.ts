import { scanJson } from "@/lib/contract/scan-json";
import { isRecord } from "../is-record";

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "instant" | "provider" | "json";

/** One field of a form made from a JSON Schema. */
export interface SchemaField {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly choices: readonly string[];
  readonly initial: string;
  readonly maxLength: number | undefined;
}

export interface SchemaForm {
  readonly fields: readonly SchemaField[];
  /** True if the schema is not a plain list of properties; then the payload is written as JSON. */
  readonly freeform: boolean;
}

/**
 * Returns the form for a payload. A property without a matching control becomes a JSON field; the server validates in
 * any case.
 */
export function schemaForm(schema: Readonly<Record<string, unknown>>): SchemaForm {
  const properties = isRecord(schema.properties) ? schema.properties : null;
  const combined = ["oneOf", "anyOf", "allOf", "if", "$ref"].some((word) => Object.hasOwn(schema, word));
  if (!properties || combined)
    return { fields: [], freeform: Object.keys(schema).length === 0 || combined || !properties };
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(properties).map(([name, property]) =>
    fieldOf(name, isRecord(property) ? property : {}, required.has(name)),
  );
  // The order of a schema's properties is not kept, so required fields come first.
  return {
    fields: [...fields.filter((one) => one.required), ...fields.filter((one) => !one.required)],
    freeform: false,
  };
}

function fieldOf(name: string, property: Record<string, unknown>, required: boolean): SchemaField {
  const kind = kindOf(name, property);
  return {
    name,
    label: typeof property.title === "string" ? property.title : name,
    hint: hintOf(property, kind),
    kind,
    required,
    choices: choicesOf(property),
    initial: initialOf(property, kind),
    maxLength: typeof property.maxLength === "number" ? property.maxLength : undefined,
  };
}

function kindOf(name: string, property: Record<string, unknown>): FieldKind {
  if (Array.isArray(property.enum)) return "choice";
  if (name === "provider_id") return "provider";
  if (property.type === "boolean" || property.type === "integer" || property.type === "number") return property.type;
  if (property.type !== "string") return "json";
  return property.format === "date-time" ? "instant" : "text";
}

function hintOf(property: Record<string, unknown>, kind: FieldKind): string {
  const bounds = [
    typeof property.minimum === "number" ? `at least ${property.minimum}` : "",
    typeof property.maximum === "number" ? `at most ${property.maximum}` : "",
    kind === "json" ? `JSON${typeof property.type === "string" ? ` ${property.type}` : ""}` : "",
    property.format === "uuid" && kind === "text" ? "UUID" : "",
  ].filter(Boolean);
  const description = typeof property.description === "string" ? property.description : "";
  return [description, bounds.join(", ")].filter(Boolean).join(" · ");
}

const TYPE_OF: Readonly<Partial<Record<FieldKind, string>>> = {
  boolean: "boolean",
  integer: "number",
  number: "number",
};

const choicesOf = (property: Record<string, unknown>): string[] =>
  Array.isArray(property.enum) ? property.enum.map((choice) => JSON.stringify(choice)) : [];

/** Returns a field's initial text. Empty: the field is omitted unless the user fills it in. */
function initialOf(property: Record<string, unknown>, kind: FieldKind): string {
  const value = property.default;
  if (value === undefined) return "";
  if (kind === "json") return JSON.stringify(value, null, 2);
  if (kind === "choice") return choicesOf(property).find((choice) => choice === JSON.stringify(value)) ?? "";
  // A default of another type, such as null for a number, does not fit this field, so the field starts empty.
  return typeof value === (TYPE_OF[kind] ?? "string") ? String(value) : "";
}

export interface Gathered {
  readonly payload: Record<string, unknown>;
  /** Values that cannot be sent, by field name. The server validates everything else. */
  readonly faults: ReadonlyMap<string, string>;
}

/** Builds the payload from the form's fields. Empty fields are omitted. */
export function gatherPayload(fields: readonly SchemaField[], values: Readonly<Record<string, string>>): Gathered {
  const faults = new Map<string, string>();
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    const text = Object.hasOwn(values, field.name) ? (values[field.name] ?? "") : field.initial;
    const read = readValue(field, text);
    if (read.fault) faults.set(field.name, read.fault);
    else if (read.value !== undefined) entries.push([field.name, read.value]);
  }
  return { payload: Object.fromEntries(entries), faults };
}

function readValue(field: SchemaField, text: string): { value?: unknown; fault?: string } {
  const isBlank = field.kind === "text" ? text === "" : text.trim() === "";
  if (isBlank) return field.required ? { fault: "Fill this in." } : {};
  if (field.kind === "boolean") return { value: text === "true" };
  if (field.kind === "integer" || field.kind === "number") return readNumber(text, field.kind === "integer");
  if (field.kind === "instant") return readInstant(text);
  if (field.kind === "choice" || field.kind === "json") return parseJsonText(text);
  return { value: text };
}

function readNumber(text: string, whole: boolean): { value?: number; fault?: string } {
  const value = Number(text);
  if (!Number.isFinite(value)) return { fault: "This must be a number." };
  if (whole && !Number.isInteger(value)) return { fault: "This must be a whole number." };
  return { value };
}

function readInstant(text: string): { value?: string; fault?: string } {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? { fault: "This must be a date and a time." } : { value: date.toISOString() };
}

/**
 * Parses JSON typed by a user. Refuses what the API would refuse: a duplicate key, or a number that cannot be stored
 * exactly.
 */
export function parseJsonText(text: string): { value?: unknown; fault?: string } {
  try {
    const value = JSON.parse(text) as unknown;
    const [problem] = scanJson(text.trim());
    return problem ? { fault: `At ${problem.pointer || "the top"}: ${problem.detail}.` } : { value };
  } catch (error) {
    return { fault: error instanceof Error ? `Not valid JSON: ${error.message}` : "Not valid JSON." };
  }
}

/** Returns the first name in a JSON pointer, unescaped; the empty string for the whole value. */
export function pointerHead(pointer: string): string {
  const [, head = ""] = pointer.split("/");
  return head.replaceAll("~1", "/").replaceAll("~0", "~");
}
