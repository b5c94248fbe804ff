import { expect, test } from "vitest";
import { generateApiKey } from "@/lib/auth/api-key";
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

// Loads the route, and makes the keys known.
for (const key of [acme, globex]) await call("GET", "/api/v1/jobs", { key });

// Many, because the other request takes more steps than one that is refused.
const FLOOD = 150;
const poolOf = { database: "web", authentication: "auth" } as const;
const invalid = generateApiKey().key;

test.each([
  ["a tenant", "database", acme],
  ["a tenant", "authentication", acme],
  ["an invalid key", "authentication", invalid],
] as const)(
  "many requests of %s keep no request of another tenant waiting for long at the %s",
  async (_who, what, key) => {
    const pool = getRuntime()[poolOf[what]];
    const borrowed = await Promise.all(Array.from({ length: pool.stats().max }, () => borrow(pool)));
    const answers: string[] = [];
    const list = async (name: string, sent: string) => {
      await call("GET", "/api/v1/jobs", { key: sent });
      answers.push(name);
    };
    const flood = Array.from({ length: FLOOD }, () => list("flood", key));
    await expect.poll(() => pool.stats().waiting).toBeGreaterThanOrEqual(flood.length);
    const before = pool.stats().waiting;
    const other = list("globex", globex);
    await expect.poll(() => pool.stats().waiting).toBeGreaterThan(before);
    await borrowed[0]?.();
    await Promise.all([...flood, other]);
    for (const release of borrowed.slice(1)) await release();
    expect(answers.indexOf("globex")).toBeLessThan(FLOOD / 3);
  },
);
