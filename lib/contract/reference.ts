/** The parts of a JSON Schema in the OpenAPI document that the reference shows. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface RawOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>;
  readonly "x-permission": string;
  readonly "x-also-permissions"?: readonly string[];
  readonly "x-sometimes-permissions"?: readonly string[];
}

/** The parts of our OpenAPI document that the reference reads. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

/** One row of a table of parameters or fields. */
export interface FieldLine {
  readonly name: string;
  readonly place: string | null;
  readonly required: boolean;
  readonly type: string;
  readonly description: string | null;
}

/** One operation, ready for display. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly permission: string;
  readonly group: string;
  readonly sessionOnly: boolean;
  readonly parameters: readonly FieldLine[];
  readonly fields: readonly FieldLine[];
  readonly answers: readonly { readonly status: string; readonly description: string }[];
  /** Schema of the usual answer; null if it has none. */
  readonly answer: Schema | null;
  readonly curl: string;
}

/** Returns the operations of an OpenAPI document in the order of its paths. */
export function operationsOf(document: ApiDocument): Operation[] {
  const schemas = document.components?.schemas ?? {};
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => operation(path, method.toUpperCase(), inlined(raw, schemas))),
  );
}

/** Returns the value with every component reference replaced by that component. Our components are not recursive. */
function inlined<T>(value: T, schemas: Readonly<Record<string, unknown>>): T {
  if (Array.isArray(value)) return value.map((item) => inlined(item, schemas)) as T;
  if (typeof value !== "object" || value === null) return value;
  const name = "$ref" in value && /^#\/components\/schemas\/(\w+)$/.exec(String(value.$ref))?.[1];
  if (name) return inlined(schemas[name] as T, schemas);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inlined(item, schemas)])) as T;
}

function operation(path: string, method: string, raw: RawOperation): Operation {
  const body = schemaOf(raw.requestBody);
  const usual = Object.entries(raw.responses).find(([status]) => status.startsWith("2"));
  const answer = schemaOf(usual?.[1]);
  return {
    id: raw.operationId,
    method,
    path,
    summary: raw.summary,
    permission: permissionOf(raw),
    group: groupOf(path),
    sessionOnly: isSessionOnly(raw),
    parameters: (raw.parameters ?? []).map(parameterLine),
    fields: body ? fieldLines(body) : [],
    answers: Object.entries(raw.responses).map(([status, { description }]) => ({ status, description })),
    answer: answer && Object.keys(answer).length > 0 ? answer : null,
    curl: curlOf(path, method, raw),
  };
}

function permissionOf(raw: RawOperation): string {
  const always = [raw["x-permission"], ...(raw["x-also-permissions"] ?? [])].join(" and ");
  const sometimes = raw["x-sometimes-permissions"] ?? [];
  return sometimes.length === 0 ? always : `${always}; some requests also ${sometimes.join(", ")}`;
}

function groupOf(path: string): string {
  if (path.startsWith("/api/v1/admin/")) return "Platform";
  if (path.startsWith("/api/v1/jobs")) return "Jobs";
  if (path.startsWith("/api/v1/me")) return "Account";
  return path.startsWith("/api/v1/") ? "Folders and files" : "Health";
}

function schemaOf(part: Content | undefined): Schema | null {
  return Object.values(part?.content ?? {})[0]?.schema ?? null;
}

function isSessionOnly({ security }: RawOperation): boolean {
  return security?.length === 1 && security[0]?.session !== undefined;
}

function parameterLine({ name, in: place, required = false, description, schema }: Parameter): FieldLine {
  return { name, place, required, type: typeText(schema), description: description ?? schema.description ?? null };
}

function fieldLines(schema: Schema, prefix = ""): FieldLine[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const required = schema.required?.includes(name) ?? false;
    const line = {
      name: prefix + name,
      place: null,
      required,
      type: typeText(field),
      description: field.description ?? null,
    };
    return [line, ...fieldLines(field, `${prefix + name}.`)];
  });
}

/** Describes a schema in words: `text, 1–64 characters`, `list of text, at most 20`, `live | window, default live`. */
export function typeText(schema: Schema): string {
  const limits = [range(schema), schema.default === undefined ? null : `default ${plain(schema.default)}`];
  return [kindText(schema), ...limits].filter((part) => part !== null).join(", ");
}

function kindText(schema: Schema): string {
  if (schema.enum) return schema.enum.map(plain).join(" | ");
  if (schema.const !== undefined) return plain(schema.const);
  if (schema.anyOf) return [...new Set(schema.anyOf.map(kindText))].join(" or ");
  if (schema.items) return `list of ${typeText(schema.items)}`;
  const type = [schema.type ?? "any JSON"].flat().join(" or ");
  if (type !== "string") return type === "integer" ? "whole number" : type;
  if (schema.format === "date-time") return "time (RFC 3339)";
  return schema.format === "uuid" || schema.format === "guid" ? "UUID" : "text";
}

function range(schema: Schema): string | null {
  if (schema.maxItems !== undefined) return `at most ${schema.maxItems}`;
  const { minLength = 0, maxLength, minimum, maximum } = schema;
  if (maxLength !== undefined) return `${minLength}–${maxLength} characters`;
  const isBounded = minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  return isBounded ? `${minimum}–${maximum}` : null;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function curlOf(path: string, method: string, raw: RawOperation): string {
  const needed = (raw.parameters ?? []).filter((parameter) => parameter.required && parameter.in === "query");
  const query = needed.map(({ name }) => `${name}=…`).join("&");
  const isOpen = raw.security?.length === 0;
  const credentials = isSessionOnly(raw)
    ? ['-b "leasehold.session=$SESSION"', '-H "Origin: $URL"']
    : ['-H "Authorization: Bearer $KEY"'];
  const body = schemaOf(raw.requestBody);
  const parts = [
    `curl -sS${method === "GET" ? "" : ` -X ${method}`} "$URL${path}${query && `?${query}`}"`,
    ...(isOpen ? [] : credentials),
    ...(raw.parameters?.some(({ name }) => name === "Idempotency-Key") ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...(body ? ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(exampleOf(body))}'`] : []),
  ];
  return parts.join(" \\\n  ");
}

/** Returns an example with the required fields only. */
function exampleOf(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.properties) {
    const required = Object.entries(schema.properties).filter(([name]) => schema.required?.includes(name));
    return Object.fromEntries(required.map(([name, field]) => [name, exampleOf(field)]));
  }
  if (schema.items) return [];
  return schema.type === "integer" || schema.type === "number" ? (schema.minimum ?? 0) : "…";
}
