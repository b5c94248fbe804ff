import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DOCUMENTED_ROUTES } from "@/app/api/v1/openapi.json/documented-routes";
import { bulkActionPermissions } from "@/lib/tenancy/permissions";
import type { RouteHandler } from "./http/serve";
import { openApiDocument } from "./openapi";
import { allowedMethods, ROUTES, type RouteMethod, routeRuleOf } from "./routes";

const APP = join(import.meta.dirname, "../../app");
const METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"];

interface OnDisk {
  readonly path: string;
  readonly method: string;
  readonly handler: Partial<RouteHandler>;
}

async function routesOnDisk(): Promise<OnDisk[]> {
  const files = readdirSync(APP, { recursive: true, encoding: "utf8" }).filter((file) =>
    /(?:^|\/)route\.tsx?$/.test(file),
  );
  const found = files.map(async (file) => {
    const module: Record<string, Partial<RouteHandler>> = await import(join(APP, file));
    const path = `/${file.replace(/\/?route\.tsx?$/, "").replace(/\([^)]*\)\//g, "")}`;
    return Object.keys(module)
      .filter((name) => METHODS.includes(name))
      .map((method) => ({ path, method, handler: module[method] ?? {} }));
  });
  return (await Promise.all(found)).flat();
}

const onDisk = await routesOnDisk();
const key = ({ path, method }: { path: string; method: string }) => `${method} ${path}`;

test("B1 every route on disk has a permission row, and every row has a route", () => {
  const rows = Object.entries(ROUTES).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  expect(onDisk.map(key).sort()).toEqual(rows.sort());
});

test("B1 every route checks the permission of its row", () => {
  for (const { path, method, handler } of onDisk) {
    expect(handler.declaration?.access, `${method} ${path} is not declared through a wrapper`).toBe(
      ROUTES[path]?.[method as RouteMethod]?.access,
    );
  }
});

test("every route that starts jobs requires the right to start jobs", () => {
  const starts = [
    "POST /api/v1/jobs",
    "POST /api/v1/jobs/bulk",
    "POST /api/v1/jobs/x/retry",
    "POST /api/v1/jobs/dead-letters/redrive",
    "POST /api/v1/jobs/triggers",
    "PATCH /api/v1/jobs/triggers/x",
    "POST /api/v1/jobs/triggers/x/run",
    "POST /api/v1/events",
    "POST /api/v1/events/x/replay",
    "POST /api/v1/webhooks/x/test",
    "POST /api/v1/webhooks/x/deliveries/x/resend",
  ];
  for (const route of starts) {
    const [method = "", path = ""] = route.split(" ");
    const { access, also = [] } = routeRuleOf(method, path);
    expect([access, ...also], route).toContain("jobs:create");
  }
  for (const action of ["retry", "redrive"] as const) expect(bulkActionPermissions(action)).toContain("jobs:create");
});

test("every route on disk is in the reference", () => {
  const undocumented = ["/api/auth/[...nextauth]", "/api/v1/openapi.json"];
  const expected = onDisk.filter(({ path }) => !undocumented.includes(path)).map(key);
  expect(DOCUMENTED_ROUTES.map(key).sort()).toEqual(expected.sort());
});

test("the reference is a complete OpenAPI 3.1 document with unique operation ids", () => {
  const document = JSON.parse(JSON.stringify(openApiDocument(DOCUMENTED_ROUTES, "1")));
  expect(document.openapi).toBe("3.1.0");
  const operations = Object.values<Record<string, { operationId: string; responses: object }>>(document.paths).flatMap(
    Object.values,
  );
  expect(operations).toHaveLength(DOCUMENTED_ROUTES.length);
  expect(new Set(operations.map((operation) => operation.operationId)).size).toBe(operations.length);
  for (const operation of operations) expect(Object.keys(operation.responses)).toContain("503");
  const create = document.paths["/api/v1/jobs"].post;
  expect(create.requestBody.content["application/json"].schema).toEqual({ $ref: "#/components/schemas/CreateJob" });
  expect(document.components.schemas.CreateJob).toMatchObject({
    additionalProperties: false,
    required: ["definition_key"],
  });
  expect(
    document.paths["/api/v1/jobs/{jobId}"].get.parameters.map((parameter: { name: string }) => parameter.name),
  ).toEqual(["jobId", "X-Tenant-Id"]);
});

test("no file is a server function, and no proxy decides about access", () => {
  const sources = ["app", "components", "lib", "web"].flatMap((folder) => {
    const root = join(APP, "..", folder);
    return existsSync(root)
      ? readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => join(root, file))
      : [];
  });
  expect(sources.filter((file) => /(?:^|\/)(?:proxy|middleware)\.tsx?$/.test(file))).toEqual([]);
});

test("API-13 static paths take precedence over ids, and only complete paths match", () => {
  expect(allowedMethods("/api/v1/jobs/summary")).toEqual(["GET", "HEAD", "OPTIONS"]);
  expect(allowedMethods("/api/v1/jobs/01890000-0000-7000-8000-000000000000/cancel")).toEqual(["POST", "OPTIONS"]);
  expect(allowedMethods("/api/v1/jobs/x/y")).toBeNull();
  expect(allowedMethods("/api/v1/openapixjson")).toBeNull();
});
