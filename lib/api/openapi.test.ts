import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";
import { expect, test } from "vitest";
import { DOCUMENTED_ROUTES } from "@/app/api/v1/openapi.json/documented-routes";
import { openApiDocument } from "./openapi";

const document = openApiDocument(DOCUMENTED_ROUTES, "1");
const text = JSON.stringify(document);
const { schemas } = document.components as { schemas: Record<string, object> };

test("every resource is a named component", () => {
  const resources = ["Job", "JobRow", "JobList", "Attempt", "CreateJob", "Trigger", "Firing", "Event", "DeadLetter"];
  const more = ["WebhookEndpoint", "WebhookDelivery", "Definition", "Queue", "Limit", "Worker", "Provider", "Problem"];
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining([...resources, ...more]));
});

test("no object of an answer is defined twice", () => {
  const seen = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    const described = JSON.stringify(schema);
    if (described.length > 200) expect(seen.get(described), `${name} is described like another`).toBeUndefined();
    seen.set(described, name);
  }
  expect(text.length).toBeLessThan(400_000);
});

// The disabled rule compares names of parameters. Ours are UUIDs, so no address is ambiguous.
test("the OpenAPI linter reports nothing", async () => {
  const config = await createConfig({ extends: ["recommended"], rules: { "no-ambiguous-paths": "off" } });
  const problems = await lintFromString({ source: text, config, absoluteRef: "openapi.json" });
  expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer}`)).toEqual(
    [],
  );
});

test("types generated from the document compile", async () => {
  const types = astToString(await openapiTypescript(text));
  const file = "openapi.d.ts";
  const use = `import type { components } from "./openapi";
    export const idOf = (job: components["schemas"]["Job"]): string => job.id;`;
  const files: Record<string, string> = { [file]: types, "use.ts": use };
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: [],
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    module: ts.ModuleKind.ESNext,
  };
  const host = ts.createCompilerHost(options);
  const [read, exists] = [host.getSourceFile.bind(host), host.fileExists.bind(host)];
  const named = (name: string) => files[name.replace(/^.*\//, "")];
  host.fileExists = (name) => named(name) !== undefined || exists(name);
  host.getSourceFile = (name, version) => {
    const own = named(name);
    return own === undefined ? read(name, version) : ts.createSourceFile(name, own, version);
  };
  const program = ts.createProgram(["use.ts"], options, host);
  expect(
    ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n")),
  ).toEqual([]);
});
