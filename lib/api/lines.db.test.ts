import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { borrow } from "@/lib/testing/rows/borrow";
import { routesOn } from "./routes.fixture";
import { getRuntime } from "./runtime";

const database = await testDatabase();
const accounts = accountsIn(database);
const call = routesOn(database);
const tenants = [await accounts.tenant("acme"), await accounts.tenant("globex")];
const person = await accounts.user({ roles: Object.fromEntries(tenants.map(({ id }) => [id, "admin"])) });
const [acme = "", globex = ""] = await Promise.all(
  tenants.map(async ({ id }) => (await accounts.key(person, { tenantId: id })).key),
);

// Loads the route.
await call("GET", "/api/v1/jobs", { key: globex });

test("a request of one tenant waits for at most one request of another tenant", async () => {
  const { web } = getRuntime();
  const borrowed = await Promise.all(Array.from({ length: web.stats().max }, () => borrow(web)));
  const answers: string[] = [];
  const list = async (name: string, key: string) => {
    const { status } = await call("GET", "/api/v1/jobs", { key });
    answers.push(`${name} ${status}`);
  };
  const flood = Array.from({ length: 30 }, () => list("acme", acme));
  await expect.poll(() => web.stats().waiting).toBeGreaterThanOrEqual(flood.length);
  const before = web.stats().waiting;
  const other = list("globex", globex);
  await expect.poll(() => web.stats().waiting).toBeGreaterThan(before);
  await borrowed[0]?.();
  await Promise.all([...flood, other]);
  expect(answers.indexOf("globex 200")).toBeLessThan(5);
  expect(new Set(answers)).toEqual(new Set(["acme 200", "globex 200"]));
});
