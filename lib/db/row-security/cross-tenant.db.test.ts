import { afterAll, describe, expect, test } from "vitest";
import { DatabaseError, openDatabase, statement, withTenant } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { seedTenant, tenantTables } from "./tenant-rows.fixture";

const database = await testDatabase();
const query = (text: string, values?: unknown[]) => database.query(text, values);
const a = await seedTenant(query, "tenant-a");
const b = await seedTenant(query, "tenant-b");
const tables = await tenantTables(query);
const web = openDatabase({
  prepare: true,
  url: database.urlFor("web"),
  role: "web",
  max: 2,
  applicationName: "cross-tenant",
});
afterAll(() => web.close());

const asA = (text: string, values: unknown[] = []) =>
  withTenant(web, a.tenantId, (tx) => tx.run(statement("attempt", text), values));

/** Returns how an attempt ended: the number of rows it touched, or the SQLSTATE that refused it. */
const attempt = (text: string, values?: unknown[]): Promise<number | string | undefined> =>
  asA(text, values).then(
    (rows) => rows.length,
    (error: unknown) => {
      if (!(error instanceof DatabaseError)) throw error;
      return error.sqlState;
    },
  );

const rowsOf = async (table: string, tenantId: string) =>
  query(`select to_jsonb(t) as row from app.${table} t where tenant_id = $1 order by 1`, [tenantId]);

const REFUSED = "42501";
/** No grant at all, a grant but no row that the policy shows, or a generated column that cannot be written. */
const NOTHING = [0, REFUSED, "428C9"];

test("every tenant table has a row of each tenant for the attempts below", async () => {
  expect(tables.length).toBeGreaterThanOrEqual(18);
  for (const { table } of tables) {
    expect(await rowsOf(table, a.tenantId), table).toHaveLength(1);
    expect(await rowsOf(table, b.tenantId), table).toHaveLength(1);
  }
});

describe.each(tables)("TENANT-11 D3 as tenant A against tenant B's rows of $table", ({ table, columns }) => {
  const name = `app.${table}`;

  test("no attempt has an effect", async () => {
    const before = await rowsOf(table, b.tenantId);
    const foreign = JSON.stringify(before[0]?.row);
    // The role web may not read every column of every table, so existence is checked by the tenant column.
    expect(NOTHING).toContain(await attempt(`select tenant_id from ${name} where tenant_id = $1`, [b.tenantId]));
    expect(NOTHING).toContain(await attempt(`delete from ${name} where tenant_id = $1 returning 1`, [b.tenantId]));
    for (const column of columns) {
      const update = `update ${name} set ${column} = ${column} where tenant_id = $1 returning 1`;
      expect(NOTHING, column).toContain(await attempt(update, [b.tenantId]));
    }
    const copy = `insert into ${name} overriding system value select * from jsonb_populate_record(null::${name}, $1)`;
    expect(await attempt(copy, [foreign])).toBe(REFUSED);
    expect(await attempt(`${copy} on conflict do nothing`, [foreign])).toBe(REFUSED);
    expect(await rowsOf(table, b.tenantId)).toEqual(before);
  });

  test("an own row cannot be moved to the other tenant", async () => {
    expect(await attempt(`update ${name} set tenant_id = $1 returning 1`, [b.tenantId])).toBe(REFUSED);
  });

  test("it can be neither truncated nor filled around the policies", async () => {
    expect(await attempt(`truncate ${name}`)).toBe(REFUSED);
    expect([REFUSED, "0A000"]).toContain(await attempt(`copy ${name} from stdin`));
  });

  test("a query without a condition returns at most own rows, and none without a tenant", async () => {
    const all = `select tenant_id from ${name}`;
    const own = await asA(all);
    expect(own).toEqual([{ tenant_id: a.tenantId }]);
    expect(await web.run(statement("unscoped", all))).toEqual([]);
  });
});

test("other tenants and their users are not visible", async () => {
  expect(await asA("select id from app.tenants")).toEqual([{ id: a.tenantId }]);
  expect(await asA("select id from app.users")).toEqual([{ id: a.userId }]);
});

describe("RLS-5 rows cannot refer to another tenant's rows", () => {
  test("an asset cannot refer to a provider of B", async () => {
    const insert = `insert into app.assets (tenant_id, provider_id, path, path_hash, size, sha256, media_type, modified_at, seen_in)
      values ($1, $2, 'x', sha256('x'), 1, repeat('0', 64), 'text/plain', now(), $3)`;
    expect(await attempt(insert, [a.tenantId, b.providerId, a.jobId])).toBe("23503");
  });

  test("a list row cannot refer to a list of B", async () => {
    const insert = "insert into app.list_rows (tenant_id, list_id, line_no, data) values ($1, $2, 7, '{}')";
    expect(await attempt(insert, [a.tenantId, b.listId])).toBe("23503");
  });
});

test("TENANT-11 the same names and keys are available to each tenant", async () => {
  // Both tenants were seeded with the same list names, dedupe keys and idempotency keys.
  expect(await asA("select key from app.dedupe_keys")).toEqual([{ key: "same-key" }]);
  expect(await attempt("insert into app.lists (tenant_id, name) values ($1, 'canary')", [a.tenantId])).toBe("23505");
});

test("RLS-6 no partition can be read around its parent's policies", async () => {
  const partitions = await query(
    "select oid::regclass::text as name from pg_class where relnamespace = 'app'::regnamespace and relispartition and relkind = 'r'",
  );
  expect(partitions.length).toBeGreaterThan(20);
  for (const { name } of partitions) expect(await attempt(`select 1 from ${name}`), String(name)).toBe(REFUSED);
});
