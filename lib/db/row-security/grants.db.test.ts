import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { APPLICATION_ROLES, type ApplicationRole, DatabaseError, openDatabase, statement, withTenant } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { seedTenant } from "./tenant-rows.fixture";

const database = await testDatabase();
const query = (text: string, values?: unknown[]) => database.query(text, values);
await seedTenant(query, "grants");

const handles = new Map(
  APPLICATION_ROLES.map((role) => [
    role,
    openDatabase({ prepare: true, url: database.urlFor(role), role, max: 1, applicationName: "grants" }),
  ]),
);
afterAll(() => Promise.all([...handles.values()].map((db) => db.close())));

/** Returns the SQLSTATE that refused the statement, or the number of rows it returned. */
async function attempt(role: ApplicationRole, text: string): Promise<string | number | undefined> {
  try {
    return (await handles.get(role)?.run(statement("grant_probe", text)))?.length;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return error.sqlState;
  }
}

/** Returns the tables on which a role has the privilege, in at least one column. */
async function tablesWith(role: ApplicationRole, privilege: string): Promise<unknown[]> {
  const check = privilege === "DELETE" ? "has_table_privilege" : "has_any_column_privilege";
  const rows = await query(
    `select relname from pg_class where relnamespace = 'app'::regnamespace and relkind in ('r', 'p') and not relispartition
       and ${check}('leasehold_${role}', oid, '${privilege}') order by 1`,
  );
  return rows.map(({ relname }) => relname);
}

/** Returns the columns of a table that a role may update. */
async function updatable(role: ApplicationRole, table: string): Promise<unknown[]> {
  const rows = await query(
    `select attname from pg_attribute where attrelid = 'app.${table}'::regclass and attnum > 0 and not attisdropped
       and has_column_privilege('leasehold_${role}', attrelid, attnum, 'UPDATE')`,
  );
  return rows.map(({ attname }) => attname);
}

describe("RLS-7 the role auth", () => {
  test("reads users, sessions, keys and their tenants, and no jobs", async () => {
    expect(await tablesWith("auth", "SELECT")).toEqual([
      "api_keys",
      "memberships",
      "request_buckets",
      "schema_functions",
      "schema_migrations",
      "sessions",
      "tenants",
      "users",
    ]);
  });

  test("is the only one that can read password hashes and key hashes", async () => {
    for (const [table, column] of [
      ["users", "password_hash"],
      ["api_keys", "secret_hash"],
      ["sessions", "id_hash"],
    ]) {
      const readers = [];
      for (const role of APPLICATION_ROLES) {
        if ((await attempt(role, `select ${column} from app.${table}`)) !== "42501") readers.push(role);
      }
      expect(readers, column).toEqual(["auth"]);
    }
  });
});

describe("RLS-8 the roles worker and scheduler", () => {
  test.each(["worker", "scheduler"] as const)(
    "%s sees every tenant's jobs, and no users, keys or results",
    async (role) => {
      expect(await attempt(role, "select 1 from app.live_jobs")).toBe(1);
      for (const table of [
        "users",
        "api_keys",
        "memberships",
        "assets",
        "lists",
        "list_rows",
        "security_audit",
        "job_audit",
      ]) {
        expect(await attempt(role, `select 1 from app.${table}`), table).toBe("42501");
      }
    },
  );

  test("only the worker can write lease numbers, and no role can write a job's id, tenant or run", async () => {
    const writers = [];
    for (const role of APPLICATION_ROLES)
      if ((await updatable(role, "live_jobs")).includes("lease_no")) writers.push(role);
    expect(writers).toEqual(["worker"]);
    for (const role of APPLICATION_ROLES) {
      const columns = await updatable(role, "live_jobs");
      for (const column of ["job_id", "tenant_id", "run_no"]) expect(columns, role).not.toContain(column);
      expect(columns.includes("lane_no"), role).toBe(role === "web");
    }
  });

  test("web can change neither a lease nor what a worker reported", async () => {
    const columns = await updatable("web", "live_jobs");
    for (const column of [
      "lease_no",
      "lease_expires_at",
      "claimed_by_worker",
      "claimed_at",
      "attempts_spent",
      "reclaims",
      "progress",
    ]) {
      expect(columns).not.toContain(column);
    }
    expect(await updatable("web", "job_attempts")).toEqual(["superseded"]);
  });

  test("in jobs, only the columns that an action on a waiting job changes can be updated", async () => {
    const changing: Partial<Record<ApplicationRole, string[]>> = {
      web: ["definition_version", "lane_no", "payload", "priority", "scheduled_for"],
      worker: ["definition_version", "payload", "scheduled_for"],
      scheduler: ["payload"],
    };
    for (const role of APPLICATION_ROLES)
      expect((await updatable(role, "jobs")).sort(), role).toEqual(changing[role] ?? []);
    for (const role of APPLICATION_ROLES) expect(await tablesWith(role, "DELETE"), role).not.toContain("jobs");
  });
});

describe("AU-2 audit tables are append-only", () => {
  const AUDIT = ["security_audit", "job_audit"];

  test.each(AUDIT)("no role can update or delete %s", async (table) => {
    for (const role of APPLICATION_ROLES) {
      expect(await updatable(role, table), role).toEqual([]);
      expect(await tablesWith(role, "DELETE"), role).not.toContain(table);
    }
  });

  test.each(AUDIT)("%s refuses the administrator's statements too", async (table) => {
    for (const text of [`update app.${table} set action = 'x'`, `delete from app.${table}`, `truncate app.${table}`]) {
      await expect(query(text), text).rejects.toMatchObject({ code: "42501" });
    }
    expect(await query(`select action from app.${table}`)).toEqual([{ action: "canary" }]);
  });

  test("every table named audit has enabled triggers against update, delete and truncate", async () => {
    const rows = await query(`
      select c.relname, t.tgtype & 58 as events, t.tgenabled from pg_class c
      left join pg_trigger t on t.tgrelid = c.oid and t.tgfoid = 'app.refuse_change'::regproc
      where c.relnamespace = 'app'::regnamespace and c.relkind = 'r' and c.relname like '%audit' order by 1`);
    // tgtype: 2 before, 8 delete, 16 update, 32 truncate
    expect(rows).toEqual([...AUDIT].sort().map((relname) => ({ relname, events: 58, tgenabled: "O" })));
  });
});

describe("roles and their sessions", () => {
  test("the owner cannot log in, and only the migrator is its member", async () => {
    expect(await query("select rolcanlogin from pg_roles where rolname = 'leasehold_owner'")).toEqual([
      { rolcanlogin: false },
    ]);
    const members = await query(
      `select member::regrole::text as name from pg_auth_members where roleid = 'leasehold_owner'::regrole
         and member::regrole::text like 'leasehold%'`,
    );
    expect(members).toEqual([{ name: "leasehold_migrator" }]);
  });

  test("TENANT-08 FORCE: a function with the owner's rights returns no row to a process, and all rows to a migration", async () => {
    const tables = ["jobs", "live_jobs", "lists", "api_keys", "users"];
    const counts = tables.map((table) => `(select count(*)::int from app.${table})`).join(" + ");
    await query(`create function app.rows_of_owner() returns int language sql security definer as 'select ${counts}'`);
    await query("alter function app.rows_of_owner() owner to leasehold_owner");
    onTestFinished(async () => void (await query("drop function app.rows_of_owner()")));
    const counted = statement("owner_rows", "select app.rows_of_owner() as n");
    for (const role of APPLICATION_ROLES) expect(await handles.get(role)?.run(counted), role).toEqual([{ n: 0 }]);
    const [migrating] = await query("select app.rows_of_owner() as n");
    expect(migrating?.n).toBeGreaterThanOrEqual(3);
  });

  test.each(["web", "auth", "platform"] as const)("%s has timeouts, so that a request always ends", async (role) => {
    const settings = await handles.get(role)?.run(
      statement(
        "limits",
        `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
              current_setting('idle_in_transaction_session_timeout') as idle`,
      ),
    );
    expect(settings).toEqual([{ statement: "10s", lock: "3s", idle: "15s" }]);
  });

  const INDEX_SCANS = "enable_bitmapscan=off enable_hashjoin=off enable_mergejoin=off enable_seqscan=off";

  test.each([
    ["worker", `${INDEX_SCANS} jit=off plan_cache_mode=force_generic_plan`],
    ["scheduler", `${INDEX_SCANS} jit=off plan_cache_mode=force_custom_plan`],
    ["web", "jit=off plan_cache_mode=force_custom_plan"],
    ["platform", "jit=off plan_cache_mode=force_custom_plan"],
    ["auth", "jit=off plan_cache_mode=force_custom_plan"],
  ] as const)("planner settings belong to the role %s, so that no pooled session needs SET", async (role, pins) => {
    const settings = await handles.get(role)?.run(
      statement(
        "pins",
        `select string_agg(name || '=' || setting, ' ' order by name) as pins from pg_settings where name = 'plan_cache_mode'
           or (name in ('enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'jit') and setting = 'off')`,
      ),
    );
    expect(settings).toEqual([{ pins }]);
  });
});

describe("worker keys", () => {
  test("a tenant's connection cannot see, create, change or revoke one, not even of its own tenant", async () => {
    const [tenant] = await query("select tenant_id as id, created_by as maker from app.api_keys where kind = 'tenant'");
    await query(
      `insert into app.api_keys (key_id, secret_hash, last4, kind, tenant_id, name, created_by, expires_at, worker_definitions)
       values ('workerkey001', sha256('x'), 'abcd', 'worker', $1, 'of the super admin', $2, now() + interval '1 day', '{x}')`,
      [tenant?.id, tenant?.maker],
    );
    const web = handles.get("web");
    if (!web) throw new Error("there is no such handle");
    await withTenant(web, String(tenant?.id), async (tx) => {
      const keys = await tx.run(statement("keys_seen", "select kind from app.api_keys"));
      expect(keys).toEqual([{ kind: "tenant" }]);
      const ended = "update app.api_keys set revoked_at = now() where kind = 'worker' returning 1";
      expect(await tx.run(statement("keys_ended", ended))).toEqual([]);
    });
    const make = `insert into app.api_keys (key_id, secret_hash, last4, kind, tenant_id, name, created_by, expires_at,
      worker_definitions) values ('workerkey002', sha256('x'), 'abcd', 'worker', $1, 'forged', $2, now(), '{x}')`;
    await expect(
      withTenant(web, String(tenant?.id), (tx) => tx.run(statement("keys_made", make), [tenant?.id, tenant?.maker])),
    ).rejects.toMatchObject({ sqlState: "42501" });
  });

  test("K-2 a worker key without a scope and a tenant key with one cannot be stored", async () => {
    const make = (kind: string, definitions: string | null) =>
      query(
        `insert into app.api_keys (key_id, secret_hash, last4, kind, tenant_id, name, created_by, expires_at, worker_definitions)
         select 'workerkey003', sha256('x'), 'abcd', $1, tenant_id, 'x', created_by, now(), $2::text[]
         from app.api_keys where kind = 'tenant'`,
        [kind, definitions],
      );
    const refused = { constraint: "api_keys_worker_scope" };
    await expect(make("worker", null)).rejects.toMatchObject(refused);
    await expect(make("worker", "{}")).rejects.toMatchObject(refused);
    await expect(make("tenant", "{x}")).rejects.toMatchObject(refused);
  });
});
