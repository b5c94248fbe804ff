/*
 * Tests that tenants are separated by row security: grants of every role, policies of every table, and pooled
 * connections. `sweepSchema` below is a list of rules for the whole schema, so a new table without policies fails the
 * tests.
 */

/** Runs one query as an administrator of the swept database. */
export type Look = (text: string) => Promise<Record<string, unknown>[]>;

/**
 * Tables without tenant_id, each with the reason why no tenant owns its rows. A new table either has a tenant_id or is
 * added here on purpose.
 */
const WITHOUT_TENANT: Readonly<Record<string, string>> = {
  tenants: "the tenants themselves; web sees its own row only",
  users: "people belong to several tenants; web sees the members of its tenant",
  sessions: "of a person, not of a tenant; auth only",
  request_buckets: "before a tenant is known; auth only",
  job_queues: "global, written by the super admin",
  job_definitions: "global, written by the super admin",
  job_definition_versions: "global, written by the super admin",
  job_workers: "processes of the installation",
  attempt_marks: "how far workers have begun what they claimed: numbers alone, for workers and schedulers only",
  web_assets: "files of the pages, the same for everybody; web only",
  leader: "process of the installation",
  schedulers: "processes of the installation",
  running_mark: "running jobs by their ids, for counts under limits; scheduler and workers only",
  claim_reservations: "claims under way, of lanes by their numbers; workers only",
  schema_functions: "ledger of the installation",
  schema_migrations: "ledger of the installation",
  installation: "facts about the installation; processes read them, people never",
};

/**
 * Keys that do not begin with a tenant. They hold ids or secrets that only the server generates, so they cannot be
 * probed.
 */
const SERVER_MADE_KEYS = new Set([
  "api_keys_pkey",
  "api_keys_key_id_key",
  "lanes_pkey",
  "jobs_pkey",
  "live_jobs_pkey",
  "job_attempts_pkey",
  "job_logs_pkey",
  "job_dependencies_pkey",
  "release_backlog_pkey",
  "job_steps_pkey",
  "providers_pkey",
  "assets_pkey",
  "lists_pkey",
  "security_audit_pkey",
  "job_audit_pkey",
  "bulk_actions_pkey",
  "job_triggers_pkey",
  "trigger_firings_pkey",
  "events_pkey",
  "webhook_endpoints_pkey",
  "webhook_deliveries_pkey",
  "idempotency_keys_pkey",
  "pauses_pkey",
  "concurrency_limits_pkey",
]);

const quoted = (names: Iterable<string>) => [...names].map((name) => `'${name}'`).join(", ");

const APP_ROLES =
  "('leasehold_web', 'leasehold_worker', 'leasehold_scheduler', 'leasehold_platform', 'leasehold_auth')";
const HAS_TENANT = `exists (select 1 from pg_attribute a
  where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)`;
const TABLES = `pg_class c where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p')`;

/** Each rule is a query whose rows are the objects that violate it. */
const RULES: Readonly<Record<string, string>> = {
  "row security is not enabled and forced": `
    select c.relname as what from ${TABLES} and not c.relispartition and ${HAS_TENANT}
      and not (c.relrowsecurity and c.relforcerowsecurity)`,
  "row security is not enabled and forced although the table holds people's rows": `
    select c.relname as what from ${TABLES} and c.relname in ('tenants', 'users', 'sessions')
      and not (c.relrowsecurity and c.relforcerowsecurity)`,
  "a data fix in a migration would change no row: app.open_to_migrations was not called": `
    select c.relname as what from ${TABLES} and not c.relispartition and c.relforcerowsecurity and not exists (
      select 1 from pg_policy p where p.polrelid = c.oid and p.polname = 'owner_migrates' and p.polcmd = '*'
        and p.polroles = array['leasehold_owner'::regrole::oid])`,
  "a process could reach the rows that only migrations may see": `
    select c.relname as what from pg_policy p join pg_class c on c.oid = p.polrelid
    where p.polname = 'owner_migrates'
      and pg_get_expr(p.polqual, p.polrelid) !~ 'pg_has_role\\(SESSION_USER, ''leasehold_owner'''`,
  "no tenant policy for web with both USING and WITH CHECK": `
    select c.relname as what from ${TABLES} and not c.relispartition and ${HAS_TENANT} and not exists (
      select 1 from pg_policy p where p.polrelid = c.oid and p.polcmd = '*' and p.polpermissive
        and p.polroles = array['leasehold_web'::regrole::oid]
        and pg_get_expr(p.polqual, p.polrelid) ~* 'tenant_id = \\( *SELECT (app\\.)?current_tenant\\('
        and pg_get_expr(p.polwithcheck, p.polrelid) ~* 'tenant_id = \\( *SELECT (app\\.)?current_tenant\\(')`,
  "a policy opens rows to web without naming the tenant": `
    select c.relname || '.' || p.polname as what from pg_policy p join pg_class c on c.oid = p.polrelid
    where p.polpermissive and 'leasehold_web'::regrole::oid = any (p.polroles) and (
      coalesce(pg_get_expr(p.polqual, p.polrelid), 'current_tenant(') !~ 'current_tenant\\('
      or coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'current_tenant(') !~ 'current_tenant\\(')`,
  "a policy is for everybody": `
    select c.relname || '.' || p.polname as what from pg_policy p join pg_class c on c.oid = p.polrelid
    where p.polroles = array[0::oid]`,
  "a partition has grants without row security of its own": `
    select c.relname as what from ${TABLES} and c.relispartition and not (c.relrowsecurity and c.relforcerowsecurity)
      and exists (select 1 from aclexplode(c.relacl) g where g.grantee <> c.relowner)`,
  "has no tenant_id and is not on the reviewed list": `
    select c.relname as what from ${TABLES} and not c.relispartition and not ${HAS_TENANT}
      and c.relname not in (${quoted(Object.keys(WITHOUT_TENANT))})`,
  "TRUNCATE, REFERENCES, TRIGGER or MAINTAIN is granted": `
    select c.relname || ' to ' || g.grantee::regrole as what from pg_class c, aclexplode(c.relacl) g
    where c.relnamespace = 'app'::regnamespace and g.grantee <> c.relowner
      and g.privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN')`,
  "is granted to everybody": `
    select c.relname as what from pg_class c, aclexplode(c.relacl) g
    where c.relnamespace = 'app'::regnamespace and g.grantee = 0`,
  "tenant_id can be updated": `
    select c.relname || ' by ' || r.rolname as what from ${TABLES.replace("where", ", pg_roles r where")}
      and r.rolname in ${APP_ROLES} and case when ${HAS_TENANT} then has_column_privilege(r.oid, c.oid, 'tenant_id', 'UPDATE') end`,
  "a view does not run with the rights of its reader": `
    select c.relname as what from pg_class c where c.relnamespace = 'app'::regnamespace and c.relkind = 'v'
      and not coalesce('security_invoker=true' = any (c.reloptions) or 'security_invoker=on' = any (c.reloptions), false)`,
  "a materialized view copies rows past every policy": `
    select c.relname as what from pg_class c where c.relnamespace = 'app'::regnamespace and c.relkind = 'm'`,
  "a definer function has no fixed search_path": `
    select p.oid::regprocedure::text as what from pg_proc p where p.pronamespace = 'app'::regnamespace and p.prosecdef
      and not coalesce('search_path=pg_catalog, app' = any (p.proconfig), false)`,
  "a function may be called by everybody": `
    select p.oid::regprocedure::text as what from pg_proc p where p.pronamespace = 'app'::regnamespace
      and exists (select 1 from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g where g.grantee = 0)`,
  "a process role has a right over the server or over the owner": `
    select r.rolname as what from pg_roles r where r.rolname in ${APP_ROLES} and (
      r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication
      or pg_has_role(r.oid, 'leasehold_owner', 'MEMBER'))`,
  "a process role owns something": `
    select c.relname as what from pg_class c where c.relnamespace = 'app'::regnamespace
      and pg_get_userbyid(c.relowner) <> 'leasehold_owner'
    union all select p.oid::regprocedure::text from pg_proc p where p.pronamespace = 'app'::regnamespace
      and pg_get_userbyid(p.proowner) <> 'leasehold_owner'`,
  "a process role may create objects": `
    select r.rolname || ' in ' || n.nspname as what from pg_roles r, pg_namespace n
    where r.rolname in ${APP_ROLES} and n.nspname in ('app', 'public') and has_schema_privilege(r.oid, n.oid, 'CREATE')`,
  "an enum column cannot be searched by index under row security": `
    select c.relname || '.' || a.attname as what from ${TABLES.replace("where", "join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid where")}
      and a.attnum > 0 and not a.attisdropped and t.typtype = 'e'`,
  "a unique key without the tenant tells one tenant what another has": `
    select i.indexrelid::regclass::text as what from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'app'::regnamespace and not c.relispartition and ${HAS_TENANT} and i.indisunique
      and not exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnum = any (i.indkey))
      and (select relname from pg_class where oid = i.indexrelid) not in (${quoted(SERVER_MADE_KEYS)})`,
  "a foreign key between tenants' tables does not carry the tenant": `
    select k.conname as what from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = 'app'::regnamespace and k.contype = 'f' and ${HAS_TENANT}
      and exists (select 1 from pg_attribute a where a.attrelid = k.confrelid and a.attname = 'tenant_id')
      and not exists (select 1 from unnest(k.conkey, k.confkey) as pair (mine, theirs)
        join pg_attribute m on m.attrelid = k.conrelid and m.attnum = pair.mine and m.attname = 'tenant_id'
        join pg_attribute t on t.attrelid = k.confrelid and t.attnum = pair.theirs and t.attname = 'tenant_id')`,
  "a foreign key points from or to a partitioned table": `
    select k.conname as what from pg_constraint k where k.contype = 'f' and exists (
      select 1 from pg_class c where c.oid in (k.conrelid, k.confrelid) and c.relnamespace = 'app'::regnamespace
        and (c.relkind = 'p' or c.relispartition))`,
};

/** Returns everything in schema app that violates a rule, as "rule: object" lines; empty if there is nothing. */
export async function sweepSchema(look: Look): Promise<string[]> {
  const found: string[] = [];
  for (const [rule, query] of Object.entries(RULES)) {
    for (const { what } of await look(query)) found.push(`${rule}: ${what}`);
  }
  return found.sort();
}

/** Returns entries of the reviewed lists that no longer name an existing object. */
export async function staleReviews(look: Look): Promise<string[]> {
  const reviewed = [...Object.keys(WITHOUT_TENANT), ...SERVER_MADE_KEYS];
  const rows = await look(
    `select relname from pg_class where relnamespace = 'app'::regnamespace and relname in (${quoted(reviewed)})`,
  );
  return reviewed.filter((name) => !rows.some(({ relname }) => relname === name));
}
