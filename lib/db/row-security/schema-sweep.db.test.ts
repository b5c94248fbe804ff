import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { type Look, staleReviews, sweepSchema } from "./schema-sweep.fixture";

const database = await testDatabase();
const client = new pg.Client({ connectionString: database.adminUrl });
const look: Look = async (text) => (await client.query(text)).rows;

beforeAll(() => client.connect());
afterAll(() => client.end());

/**
 * Sweeps the schema with a violation planted, then rolls it back. Retries, because other test files may change roles
 * too.
 */
async function sweepWith(plant: string, tries = 10): Promise<string[]> {
  await client.query("begin");
  try {
    await client.query(`set local role leasehold_owner; ${plant}`);
    await client.query("reset role");
    return await sweepSchema(look);
  } catch (error) {
    if (tries === 1 || !/tuple concurrently/.test(String(error))) throw error;
  } finally {
    await client.query("rollback");
  }
  return sweepWith(plant, tries - 1);
}

test("RLS-9 TENANT-08 the schema breaks no rule", async () => {
  expect(await sweepSchema(look)).toEqual([]);
});

test("RLS-9 the reviewed lists contain only existing objects", async () => {
  expect(await staleReviews(look)).toEqual([]);
});

const PROTECTED = "create table app.planted (id uuid primary key, tenant_id uuid not null);";

describe("RLS-9 the sweep fails when", () => {
  test.each([
    [
      "a new table forgets everything",
      PROTECTED,
      ["row security is not enabled and forced: planted", "no tenant policy for web"],
    ],
    [
      "a new table forgets FORCE",
      `${PROTECTED} call app.protect_tenant_table('app.planted'); alter table app.planted no force row level security`,
      ["row security is not enabled and forced: planted"],
    ],
    [
      "a new table forgets its policy",
      `${PROTECTED} alter table app.planted enable row level security; alter table app.planted force row level security`,
      ["no tenant policy for web with both USING and WITH CHECK: planted"],
    ],
    [
      "a migration would see none of a table's rows",
      `${PROTECTED} call app.protect_tenant_table('app.planted'); drop policy owner_migrates on app.planted`,
      ["a data fix in a migration would change no row: app.open_to_migrations was not called: planted"],
    ],
    [
      "the owner's policy forgets the login of the session",
      `${PROTECTED} call app.protect_tenant_table('app.planted'); alter policy owner_migrates on app.planted using (true)`,
      ["a process could reach the rows that only migrations may see: planted"],
    ],
    [
      "a policy forgets WITH CHECK's own condition",
      `${PROTECTED} call app.protect_tenant_table('app.planted');
       alter policy tenant_rw on app.planted with check (true)`,
      [
        "no tenant policy for web with both USING and WITH CHECK: planted",
        "a policy opens rows to web without naming the tenant: planted.tenant_rw",
      ],
    ],
    [
      "RLS-3 a policy calls the tenant for each row",
      `${PROTECTED} call app.protect_tenant_table('app.planted');
       alter policy tenant_rw on app.planted using (tenant_id = app.current_tenant())`,
      ["no tenant policy for web with both USING and WITH CHECK: planted"],
    ],
    [
      "a second policy opens everything to web",
      "create policy also on app.lists for select to leasehold_web using (true)",
      ["a policy opens rows to web without naming the tenant: lists.also"],
    ],
    [
      "a policy is for everybody",
      "create policy also on app.lists using (false)",
      ["a policy is for everybody: lists.also"],
    ],
    [
      "a table without tenant_id was not reviewed",
      "create table app.planted (id uuid primary key)",
      ["has no tenant_id and is not on the reviewed list: planted"],
    ],
    [
      "RLS-6 a partition is granted",
      "grant select on app.jobs_default to leasehold_web",
      ["a partition has grants without row security"],
    ],
    ["TRUNCATE is granted", "grant truncate on app.lists to leasehold_web", ["TRUNCATE, REFERENCES"]],
    ["REFERENCES is granted", "grant references on app.lists to leasehold_worker", ["TRUNCATE, REFERENCES"]],
    ["a table is granted to everybody", "grant select on app.lists to public", ["is granted to everybody: lists"]],
    [
      "tenant_id becomes writable",
      "grant update (tenant_id) on app.lists to leasehold_web",
      ["tenant_id can be updated: lists by leasehold_web"],
    ],
    [
      "RLS-6 TENANT-10 a view runs with its owner's rights",
      "create view app.planted as select * from app.lists",
      ["a view does not run with the rights of its reader: planted"],
    ],
    [
      "RLS-6 there is a materialized view",
      "create materialized view app.planted as select 1 as one",
      ["a materialized view copies rows past every policy: planted"],
    ],
    [
      "RLS-7 a definer function has an open search_path",
      "create function app.planted() returns int language sql security definer as 'select 1'; revoke all on function app.planted() from public",
      ["a definer function has no fixed search_path"],
    ],
    [
      "RLS-7 a function may be called by everybody",
      "create function app.planted() returns int language sql as 'select 1'",
      ["a function may be called by everybody"],
    ],
    [
      "a process role becomes the owner's member",
      "reset role; grant leasehold_owner to leasehold_web",
      ["a process role has a right over the server or over the owner: leasehold_web"],
    ],
    [
      "a process role may pass by row security",
      "reset role; alter role leasehold_web bypassrls",
      ["a process role has a right over the server"],
    ],
    [
      "a process role owns a table",
      "reset role; create table app.planted (id uuid); alter table app.planted owner to leasehold_web",
      ["a process role owns something: planted"],
    ],
    [
      "a process role may create objects",
      "grant create on schema app to leasehold_web",
      ["a process role may create objects: leasehold_web in app"],
    ],
    [
      "RLS-4 a status is an enum",
      "create type app.mood as enum ('a'); alter table app.lists add column mood app.mood",
      ["an enum column cannot be searched by index under row security: lists.mood"],
    ],
    [
      "RLS-5 a unique key is global",
      "create unique index planted on app.lists (name)",
      ["a unique key without the tenant tells one tenant what another has"],
    ],
    [
      "RLS-5 TENANT-11 a foreign key leaves the tenant out",
      "alter table app.list_rows add constraint planted foreign key (list_id) references app.lists (id)",
      ["a foreign key between tenants' tables does not carry the tenant: planted"],
    ],
    [
      "RLS-5 a foreign key points at a partitioned table",
      "alter table app.dedupe_keys add constraint planted foreign key (job_id) references app.jobs (id)",
      ["a foreign key points from or to a partitioned table"],
    ],
  ])("%s", async (_what, plant, expected) => {
    const found = await sweepWith(plant);
    for (const line of expected) expect(found).toEqual(expect.arrayContaining([expect.stringContaining(line)]));
  });
});
