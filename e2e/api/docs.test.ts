import { expect, test } from "vitest";
import { PROBLEMS } from "@/lib/contract";
import { testDatabase } from "@/lib/testing/database";
import { startWeb } from "./web";

const web = await startWeb(await testDatabase());

test("every error code has a documentation page, and an unknown code answers 404", async () => {
  for (const [code, [status, title]] of Object.entries(PROBLEMS)) {
    const page = await web.call("GET", `/docs/errors/${code}`);
    expect(page.status, code).toBe(200);
    expect(page.text).toContain(`HTTP <!-- -->${status}`);
    expect(page.text).toContain(title.replaceAll("'", "&#x27;"));
  }
  for (const unknown of ["nothing", "toString", "__proto__"]) {
    expect((await web.call("GET", `/docs/errors/${unknown}`)).status, unknown).toBe(404);
  }
});

test("the API reference is public and shows every operation of the document", async () => {
  const { paths } = (await web.call("GET", "/api/v1/openapi.json")).body;
  const page = await web.call("GET", "/docs/api");
  expect(page.status).toBe(200);
  const operations = Object.values<Record<string, { operationId: string }>>(paths).flatMap(Object.values);
  expect(operations.length).toBeGreaterThan(15);
  for (const { operationId } of operations) expect(page.text).toContain(`id="${operationId}"`);
});
