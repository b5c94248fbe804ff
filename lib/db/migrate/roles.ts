import pg from "pg";
import { jitter, waitMs } from "../pause";
import { APPLICATION_ROLES, type ApplicationRole } from "../types";
import { MigrationError } from "./migration-error";
import { roleName, rolePassword } from "./role-logins.mjs";
import { scramVerifier } from "./scram-verifier";

const RACES = 20;
const OWNER = roleName("owner");
const MIGRATOR = roleName("migrator");
const LOGINS = [...APPLICATION_ROLES.map(roleName), MIGRATOR];

/** Passwords that an operator chose for roles, instead of the derived ones. */
export type RolePasswords = Readonly<Partial<Record<ApplicationRole, string>>>;

interface Passwords {
  readonly secret: string;
  readonly rolePasswords?: RolePasswords;
}

const PEOPLE_WAIT = { statement_timeout: "10s", lock_timeout: "3s", idle_in_transaction_session_timeout: "15s" };
const BACKGROUND = { statement_timeout: "60s", lock_timeout: "5s", idle_in_transaction_session_timeout: "30s" };

// A claim that was planned on empty tables took 16 s at a million rows. These settings keep the index scans that it was
// written for, regardless of statistics. They are set on the role, because pooled sessions take no SET.
const INDEX_SCANS = {
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
};
const PINNED_PLANS = { ...INDEX_SCANS, jit: "off", plan_cache_mode: "force_generic_plan" };

// A statement prepared on an empty table may keep that plan: 4.5 s for a page of 113,000 jobs. These roles plan each
// execution by its values and the current table size. The functions of the hot path (app.enqueue_*) have pinned generic
// plans of their own.
const FRESH_PLANS = { plan_cache_mode: "force_custom_plan", jit: "off" };

const SETTINGS: Readonly<Record<ApplicationRole, Readonly<Record<string, string>>>> = {
  web: { ...PEOPLE_WAIT, ...FRESH_PLANS },
  auth: { ...PEOPLE_WAIT, ...FRESH_PLANS },
  platform: { ...PEOPLE_WAIT, ...FRESH_PLANS },
  worker: { ...BACKGROUND, ...PINNED_PLANS },
  // A leader that froze inside a transaction keeps its term locked until the server ends its session.
  scheduler: { ...BACKGROUND, ...INDEX_SCANS, ...FRESH_PLANS, idle_in_transaction_session_timeout: "5s" },
};

/**
 * Creates the roles and sets their passwords, settings and right to connect. Safe to run at any time and from several
 * processes. Roles belong to the whole server, so all databases of one server must share the secret. A login that may
 * not create roles is accepted if the roles exist.
 */
export async function ensureRoles(client: pg.Client, passwords: Passwords): Promise<void> {
  if (await mayCreateRoles(client)) {
    await againWhileRacing(() => inTransaction(client, () => createRoles(client, passwords)));
  } else {
    await requireRoles(client);
  }
  await againWhileRacing(() => inTransaction(client, () => openDatabaseToRoles(client)));
}

async function createRoles(client: pg.Client, { secret, rolePasswords = {} }: Passwords): Promise<void> {
  const { rows } = await client.query<{ rolname: string }>(
    "select rolname from pg_roles where rolname like 'leasehold%'",
  );
  const present = new Set(rows.map(({ rolname }) => rolname));
  if (!present.has(OWNER)) await client.query(`create role ${OWNER} nologin`);
  // May act as the owner, so no process can derive a password for it. An operator sets one when needed.
  if (!present.has(MIGRATOR)) await client.query(`create role ${MIGRATOR} nologin`);
  await client.query(`alter role ${MIGRATOR} set timezone = 'UTC'`);
  for (const role of APPLICATION_ROLES) {
    const name = roleName(role);
    if (!present.has(name)) await client.query(`create role ${name} login`);
    const verifier = pg.escapeLiteral(scramVerifier(rolePasswords[role] ?? rolePassword(secret, role)));
    await client.query(`alter role ${name} login password ${verifier}`);
    for (const [setting, value] of Object.entries({ ...SETTINGS[role], timezone: "UTC" })) {
      await client.query(`alter role ${name} set ${setting} = ${pg.escapeLiteral(value)}`);
    }
  }
  await client.query(`grant ${OWNER} to ${MIGRATOR}`);
  await letOwnerSeeSessions(client);
  await becomeMemberOfOwner(client);
}

// app.snapshot_holders names sessions of other roles only if the owner may see them. From PostgreSQL 16 on, only a
// member with ADMIN OPTION or a superuser may grant that. Without the grant, the scheduler reports what it cannot see.
async function letOwnerSeeSessions(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ may: boolean }>(
    `select not pg_has_role('${OWNER}', 'pg_read_all_stats', 'MEMBER') and (rolsuper
       or current_setting('server_version_num')::int < 160000
       or pg_has_role(current_user, 'pg_read_all_stats', 'MEMBER WITH ADMIN OPTION')) as may
     from pg_roles where rolname = current_user`,
  );
  if (rows[0]?.may) await client.query(`grant pg_read_all_stats to ${OWNER}`);
}

// A superuser may act as any role without membership. From PostgreSQL 16 on, a login that created the role may not.
async function becomeMemberOfOwner(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ needed: boolean }>(
    `select not rolsuper and not pg_has_role(current_user, '${OWNER}',
       case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end) as needed
     from pg_roles where rolname = current_user`,
  );
  if (rows[0]?.needed) await client.query(`grant ${OWNER} to current_user`);
}

async function openDatabaseToRoles(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; owns: boolean; open: boolean; public_create: boolean }>(
    `select d.datname as name, pg_has_role(current_user, d.datdba, 'USAGE') as owns,
            has_database_privilege('${OWNER}', d.oid, 'CREATE') and not exists (
              select 1 from aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a where a.grantee = 0) as open,
            to_regnamespace('public') is not null and exists (
              select 1 from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
              where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE') as public_create
     from pg_database d where d.datname = current_database()`,
  );
  const database = rows[0];
  if (!database || (database.open && !database.public_create)) return;
  if (!database.owns) {
    throw new MigrationError(
      "not-allowed",
      `The login of DATABASE_URL must own database ${database.name} (or be a superuser) to grant the right to connect.`,
    );
  }
  const name = pg.escapeIdentifier(database.name);
  await client.query(`revoke all on database ${name} from public`);
  await client.query(`grant connect on database ${name} to ${LOGINS.join(", ")}`);
  await client.query(`grant create on database ${name} to ${OWNER}`);
  if (database.public_create) await client.query("revoke create on schema public from public");
}

async function mayCreateRoles(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    "select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user",
  );
  return rows[0]?.may ?? false;
}

async function requireRoles(client: pg.Client): Promise<void> {
  const wanted = [OWNER, ...LOGINS];
  const { rows } = await client.query<{ rolname: string }>("select rolname from pg_roles where rolname = any($1)", [
    wanted,
  ]);
  const missing = wanted.filter((name) => !rows.some(({ rolname }) => rolname === name));
  if (missing.length > 0) {
    throw new MigrationError(
      "not-allowed",
      `The login of DATABASE_URL cannot create roles, and these are missing: ${missing.join(", ")}. Give it CREATEROLE, or create them manually.`,
    );
  }
}

async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

// Roles and database privileges are in shared catalogs, which no lock of one database protects, so racing changes are
// retried.
async function againWhileRacing(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const { code, message = "" } = error as { code?: string; message?: string };
      const raced = code === "42710" || code === "23505" || code === "40P01" || /tuple concurrently/.test(message);
      if (code === "42501" && !(error instanceof MigrationError)) {
        throw new MigrationError(
          "not-allowed",
          `The login of DATABASE_URL cannot set up the roles: ${message}.`,
          error,
        );
      }
      if (!raced || attempt === RACES) throw error;
    }
    await waitMs(jitter(30 * attempt));
  }
}
