import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { expectProblem, startWeb } from "./web";

const home = await realpath(await mkdtemp(join(tmpdir(), "leasehold api ")));
afterAll(() => rm(home, { recursive: true }));
const root = join(home, "root");
await mkdir(join(root, "a folder"), { recursive: true });
await symlink("/etc", join(root, "way-out"));

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const superAdmin = await make.user({ superAdmin: true });
const member = await make.user({ roles: { [acme.id]: "member" } });
const { key: superKey } = await make.key(superAdmin, {
  kind: "super_admin",
  scopes: ["platform:read", "platform:write"],
});
const { key } = await make.key(member, { tenantId: acme.id });
const web = await startWeb(database, { PROVIDER_ROOTS: root });
const register = (body: unknown) => web.call("POST", "/api/v1/admin/providers", { key: superKey, body });

test("a folder inside PROVIDER_ROOTS is registered under its real path and audited", async () => {
  const made = await register({ tenant: "acme", name: "documents", path: `${root}/a folder/../a folder` });
  expect([made.status, made.body]).toMatchObject([
    201,
    { tenant_id: acme.id, tenant_slug: "acme", kind: "folder", path: join(root, "a folder") },
  ]);
  const list = await web.call("GET", "/api/v1/admin/providers?tenant=acme", { key: superKey });
  expect(list.body.data).toEqual([made.body]);
  const audit = await database.query(
    "select actor_id, tenant_id, object_id from app.security_audit where action = 'provider.created'",
  );
  expect(audit).toHaveLength(1);
  expect(audit[0]).toMatchObject({ tenant_id: acme.id, object_id: made.body.id });
  const events = await database.query("select tenant_id, actor_id, data from app.events where name = $1", [
    "provider.connection.changed",
  ]);
  const { id, name } = made.body;
  const data = { provider_id: id, provider_name: name, kind: "folder", change: "registered" };
  expect(events).toEqual([{ tenant_id: acme.id, actor_id: audit[0]?.actor_id, data }]);
  expectProblem(await register({ tenant: acme.id, name: "documents", path: root }), 409, "provider-exists");
});

test.each(["/etc", "/nowhere", "root/way-out", "root/nothing"])(
  "a folder at %s is refused with the same answer whether it exists or not",
  async (path) => {
    const problem = expectProblem(
      await register({ tenant: "acme", name: "x", path: path.startsWith("/") ? path : join(home, path) }),
      422,
      "provider-path-invalid",
    );
    expect(problem.errors).toEqual([
      {
        pointer: "/path",
        code: "provider-path-invalid",
        detail: "the folder is not inside one of PROVIDER_ROOTS, or does not exist",
      },
    ]);
  },
);

test.each([
  [{ path: "relative" }, "/path"],
  [{ name: "" }, "/name"],
  [{ kind: "s3" }, "/kind"],
  [{ tenant: "Nope!" }, "/tenant"],
  [{ tenant: "nowhere" }, "/tenant"],
  [{ created_by: "x" }, "/created_by"],
])("%j is refused with a pointer", async (fields, pointer) => {
  const problem = expectProblem(
    await register({ tenant: "acme", name: "y", path: root, ...fields }),
    422,
    "validation-failed",
  );
  expect(problem.errors[0].pointer).toBe(pointer);
});

test("the inventory lists the files of the tenant's folders page by page", async () => {
  const { id: providerId } = (await register({ tenant: "acme", name: "inventory", path: root })).body;
  await database.query(
    `insert into app.assets (tenant_id, provider_id, path, path_hash, size, sha256, media_type, modified_at, seen_in)
     select $1, $2, 'file ' || n, sha256(('file ' || n)::bytea), 9007199254740991, repeat('a', 64), 'text/plain', now(), app.new_id()
     from generate_series(1, 7) n`,
    [acme.id, providerId],
  );
  const seen: string[] = [];
  let query = `limit=3&provider_id=${providerId}`;
  for (;;) {
    const { body } = await web.call("GET", `/api/v1/assets?${query}`, { key });
    seen.push(...body.data.map((asset: { path: string }) => asset.path));
    expect(body.pagination).toMatchObject({ total: 7, total_relation: "eq" });
    expect(body.data[0].size).toBe(9007199254740991);
    if (!body.pagination.has_more) break;
    query = `limit=3&provider_id=${providerId}&cursor=${body.pagination.next_cursor}`;
  }
  expect([...seen].sort()).toEqual(Array.from({ length: 7 }, (_, i) => `file ${i + 1}`));
});

test("lists filled by imports are returned page by page; unfilled lists and those of other tenants are not", async () => {
  const globex = await make.tenant("globex");
  await database.query(
    `insert into app.lists (tenant_id, name, columns, row_count, made_in) values
       ($1, 'people', '{name,age}', 2, null), ($1, 'places', '{city}', 7, null), ($1, 'begun', '{}', 0, app.new_id()),
       ($2, 'foreign', '{x}', 1, null)`,
    [acme.id, globex.id],
  );
  const first = (await web.call("GET", "/api/v1/lists?limit=1", { key })).body;
  expect(first).toMatchObject({
    data: [{ name: "places", columns: ["city"], row_count: 7 }],
    pagination: { total: 2 },
  });
  const next = (await web.call("GET", `/api/v1/lists?limit=1&cursor=${first.pagination.next_cursor}`, { key })).body;
  expect([next.data[0].name, next.pagination.has_more]).toEqual(["people", false]);
});
