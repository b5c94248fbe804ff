import type * as z from "zod";
import { problem } from "@/lib/contract";
import type { RouteDeclaration } from "./http/serve";
import { jsonSchema, OpenApiComponents } from "./openapi-components";
import { ROUTES, type RouteAccess, type RouteMethod } from "./routes";

/** One method of one path with its declaration. */
export interface DocumentedRoute {
  /** As on disk: `/api/v1/jobs/[jobId]`. */
  readonly path: string;
  readonly method: string;
  readonly declaration: RouteDeclaration;
}

type Json = Record<string, unknown>;

/** Returns the OpenAPI 3.1 document of the routes, generated from the schemas that check requests and answers. */
export function openApiDocument(routes: readonly DocumentedRoute[], version: string): Json {
  const components = new OpenApiComponents();
  const paths: Record<string, Json> = {};
  const problemSchema = components.answer(problem);
  for (const route of routes) {
    const path = route.path.replace(/\[(?:\.\.\.)?(\w+)\]/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, { components, problemSchema }) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Leasehold API", version, description: DESCRIPTION, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: "/" }],
    security: [{ apiKey: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key: lhk_live_…" },
        session: { type: "apiKey", in: "cookie", name: "leasehold.session" },
      },
      schemas: components.schemas,
      headers: { "X-Request-Id": { schema: { type: "string" }, description: "Quote it when you report a fault." } },
    },
  };
}

const DESCRIPTION =
  "Times are RFC 3339 in UTC, ids are UUIDs. Clients must ignore fields they do not know. The tenant is the API key's " +
  "own, or the one that X-Tenant-Id names (id or slug). Of a schema with x-shown-with, callers without one of the " +
  "permissions get only the fields in others_get.";

interface Context {
  readonly components: OpenApiComponents;
  readonly problemSchema: Json;
}

function operation({ path, method, declaration }: DocumentedRoute, context: Context): Json {
  const hasTenant = /^(?:jobs|triggers|events|webhooks|definitions|assets):/.test(declaration.access);
  const rule = ROUTES[path]?.[method as RouteMethod];
  const parameters = [
    ...parametersOf(declaration.params, "path"),
    ...parametersOf(declaration.query, "query"),
    ...(hasTenant ? [TENANT_HEADER] : []),
    ...(method === "POST" && declaration.access.includes(":") ? [IDEMPOTENCY_HEADER] : []),
    ...(declaration.etag && method !== "GET" && method !== "POST" ? [IF_MATCH_HEADER] : []),
    ...(declaration.chained ? [CHAIN_HEADER] : []),
  ];
  return {
    operationId: operationId(method, path),
    summary: declaration.summary,
    ...(declaration.access === "open" ? { security: [] } : {}),
    ...(declaration.access === "worker" ? { security: [{ apiKey: [] }] } : {}),
    ...(declaration.sessionOnly ? { security: [{ session: [] }] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(declaration.body ? { requestBody: requestBody(declaration, declaration.body, context) } : {}),
    responses: responses(declaration, method, context),
    "x-permission": declaration.access,
    ...(rule?.also ? { "x-also-permissions": rule.also } : {}),
    ...(rule?.sometimes ? { "x-sometimes-permissions": rule.sometimes } : {}),
  };
}

const TENANT_HEADER = {
  name: "X-Tenant-Id",
  in: "header",
  schema: { type: "string" },
  description: "Tenant id or slug. Needed with a session or a super admin's key.",
};
const IDEMPOTENCY_HEADER = {
  name: "Idempotency-Key",
  in: "header",
  schema: { type: "string", minLength: 1, maxLength: 255 },
  description: "The same key with the same body gets the same answer, for 24 hours.",
};

const IF_MATCH_HEADER = {
  name: "If-Match",
  in: "header",
  schema: { type: "string" },
  description:
    "The ETag that the change is based on; 412 if the resource was changed since. Without it, the change applies to the current version.",
};

const CHAIN_HEADER = {
  name: "Leasehold-Chain",
  in: "header",
  schema: { type: "integer", minimum: 0 },
  description: "The chain depth of the job that sends the request. It ends loops of jobs that cause each other.",
};

function parametersOf(schema: z.ZodType | undefined, location: "path" | "query"): Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, "input") as { properties?: Json; required?: string[] };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: location,
    required: location === "path" || required.includes(name),
    schema: property,
  }));
}

function requestBody(
  { bodyMediaType = "application/json" }: RouteDeclaration,
  schema: z.ZodType,
  { components }: Context,
): Json {
  return { required: true, content: { [bodyMediaType]: { schema: components.body(schema) } } };
}

function responses(declaration: RouteDeclaration, method: string, context: Context): Json {
  const { response, status = 200, mediaType = "application/json", access } = declaration;
  const schema = response ? context.components.answer(response) : {};
  const headers = declaration.etag && method !== "DELETE" ? { ...REQUEST_ID, ...ETAG } : REQUEST_ID;
  const success = { description: "Done", headers, content: { [mediaType]: { schema } } };
  const answers: Json = { [status]: success };
  if (status === 201) answers[200] = { ...success, description: "Already exists" };
  const problems = problemsOf(access, method);
  if (declaration.etag && (method === "PATCH" || method === "DELETE")) problems[412] = "Changed since it was read";
  if (declaration.tooMany) problems[429] = declaration.tooMany;
  for (const [code, description] of Object.entries(problems)) {
    answers[code] = {
      description,
      headers: REQUEST_ID,
      content: { "application/problem+json": { schema: context.problemSchema } },
    };
  }
  return answers;
}

const REQUEST_ID = { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } };

const ETAG = { ETag: { schema: { type: "string" }, description: "Changes with each change; for If-Match." } };

function problemsOf(access: RouteAccess, method: string): Record<string, string> {
  const always = {
    400: "Malformed request",
    503: "The database does not answer, or the service is busy; see Retry-After",
  };
  if (access === "open") return always;
  const signedIn = { ...always, 401: "No valid session or key", 403: "Not allowed", 404: "Not found" };
  if (method === "GET") return signedIn;
  return { ...signedIn, 409: "Conflicts with the current state", 413: "Too large", 415: "Not JSON", 422: "Not valid" };
}

function operationId(method: string, path: string): string {
  const words = path
    .replace("/api/v1", "")
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean);
  return [method.toLowerCase(), ...words]
    .map((word, i) => (i === 0 ? word : word[0]?.toUpperCase() + word.slice(1)))
    .join("");
}
