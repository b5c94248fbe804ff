import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtinDefinitions } from "@/jobs";
import { parseApiKey } from "@/lib/auth/api-key";
import { verifyPassword } from "@/lib/auth/password";
import { testDatabase } from "@/lib/testing/database";
import { seed } from "./seed";

const database = await testDatabase();
const home = mkdtempSync(path.join(tmpdir(), "leasehold-seed-"));
const env = { adminUrl: database.adminUrl, prepare: true, secret: database.secret, home };
const lines: string[] = [];
const log = (line: string) => void lines.push(line);
const demo = () => JSON.parse(readFileSync(path.join(home, "demo.json"), "utf8"));
const counts = () =>
  database.query(`select (select count(*) from app.tenants) as tenants, (select count(*) from app.users) as users,
    (select count(*) from app.api_keys) as keys, (select count(*) from app.providers) as providers,
    (select count(*) from app.job_definitions) as definitions, (select count(*) from app.job_triggers) as triggers, (select count(*) from app.memberships) as memberships`);

chmodSync(home, 0o755); // as root, the sample folders lie elsewhere unless others can enter
beforeAll(() => seed(env, { demo: true, log }));
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

describe("the demo seed", () => {
  test("creates two tenants, and a user who is a member of both", async () => {
    const rows = await database.query(`select u.email, array_agg(t.slug || ' ' || m.role order by t.slug) as roles
      from app.memberships m join app.users u on u.id = m.user_id join app.tenants t on t.id = m.tenant_id
      group by u.email having count(*) > 1`);
    expect(rows).toEqual([{ email: demo().users.acme_member.email, roles: ["acme member", "globex viewer"] }]);
  });

  test("its passwords match the stored argon2id hashes, and its keys are valid", async () => {
    for (const { email, password } of Object.values<{ email: string; password: string }>(demo().users)) {
      const [row] = await database.query("select password_hash from app.users where email = $1", [email]);
      expect(row?.password_hash).toMatch(/^\$argon2id\$/);
      expect(await verifyPassword(password, row?.password_hash)).toBe(true);
    }
    for (const key of Object.values<string>(demo().api_keys)) {
      const parsed = parseApiKey(key);
      const [row] = await database.query("select secret_hash from app.api_keys where key_id = $1", [parsed?.keyId]);
      expect(row?.secret_hash.equals(parsed?.secretHash)).toBe(true);
    }
  });

  test("registers every definition of the code", async () => {
    const rows = await database.query("select key from app.job_definitions");
    expect(rows.map(({ key }) => key)).toEqual(expect.arrayContaining(builtinDefinitions.map(({ key }) => key)));
  });

  test("a definition without own settings uses those of its queue", async () => {
    const settings = "timeout_seconds = 77, max_attempts = 9";
    await database.query(`update app.job_queues set ${settings} where name = 'default'`);
    const [effective] = await database.query(
      `select j.timeout_seconds, j.max_attempts from app.tenants t, app.job_definitions d,
         lateral app.enqueue_job(t.id, d.id, d.version, null, 'manual', null, null, '{}', null, null, null, null, null, null,
           null, null, null, null, null, null) j
       where d.key = 'sync-folder' and t.status = 'active' limit 1`,
    );
    expect(effective).toEqual({ timeout_seconds: 77, max_attempts: 9 });
    await database.query(
      "update app.job_queues set timeout_seconds = null, max_attempts = null where name = 'default'",
    );
  });

  test("its worker key can claim the definition that the remote worker example runs", async () => {
    const keyId = parseApiKey(demo().api_keys.worker)?.keyId;
    const rows = await database.query(
      `select k.tenant_id, d.key, d.executor from app.api_keys k join app.job_definitions d on d.key = any (k.worker_definitions)
       where k.key_id = $1`,
      [keyId],
    );
    expect(rows).toEqual([{ tenant_id: null, key: "summarize-text", executor: "remote" }]);
  });

  test("registers sample folders that any local user can read", async () => {
    for (const slug of ["acme", "globex"]) {
      const [row] = await database.query(
        "select p.path from app.providers p join app.tenants t on t.id = p.tenant_id where p.id = $1 and t.slug = $2",
        [demo().providers[slug].id, slug],
      );
      expect(row?.path).toBe(demo().providers[slug].path);
      expect(statSync(row?.path).mode & 0o005).toBe(0o005);
      expect(statSync(path.join(row?.path, "empty.dat")).mode & 0o004).toBe(0o004);
    }
  });

  test("gives a tenant an enabled and a disabled schedule", async () => {
    const rows = await database.query(
      "select is_enabled, next_run_at > app.now() as waits, payload_template from app.job_triggers where trigger_type = 'schedule' order by id",
    );
    const payload_template = { provider_id: demo().providers.acme.id };
    expect(rows).toEqual([
      { is_enabled: false, waits: null, payload_template },
      { is_enabled: true, waits: true, payload_template },
    ]);
  });

  test("creates two triggers that chain events and jobs, the second disabled until it has an endpoint", async () => {
    const rows = await database.query(
      `select t.event_name, d.key, t.is_enabled from app.job_triggers t join app.job_definitions d on d.id = t.definition_id
       where t.trigger_type = 'event' order by t.id`,
    );
    expect(rows).toEqual([
      { event_name: "provider.folder.updated", key: "sync-folder", is_enabled: true },
      { event_name: "images.ingest.completed", key: "deliver-webhook", is_enabled: false },
    ]);
  });

  test("running it again changes nothing", async () => {
    const before = [await counts(), demo()];
    await seed(env, { demo: true, log });
    expect([await counts(), demo()]).toEqual(before);
  });

  test("the demo's folders follow a renamed installation folder", async () => {
    const renamed = `${home} renamed`;
    renameSync(home, renamed);
    try {
      await seed({ ...env, home: renamed }, { demo: true, log });
      const found = JSON.parse(readFileSync(path.join(renamed, "demo.json"), "utf8")).providers;
      const rows = await database.query("select id, path from app.providers order by path");
      expect(rows.map((row) => row.path)).toEqual(
        ["acme", "globex"].map((slug) => path.join(renamed, "providers", slug)),
      );
      expect(rows).toEqual(Object.values(found));
      for (const { path: folder } of rows) expect(existsSync(folder)).toBe(true);
    } finally {
      renameSync(renamed, home);
      await seed(env, { demo: true, log });
    }
  });

  test("a lost demo.json is written again, with passwords that work", async () => {
    const before = await counts();
    rmSync(path.join(home, "demo.json"));
    await seed(env, { demo: true, log });
    expect(statSync(path.join(home, "demo.json")).mode & 0o777).toBe(0o600);
    const { email, password } = demo().users.acme_admin;
    const [row] = await database.query("select password_hash from app.users where email = $1", [email]);
    expect(await verifyPassword(password, row?.password_hash)).toBe(true);
    expect((await counts())[0]).toMatchObject({ ...before[0], keys: String(Number(before[0]?.keys) + 4) });
  });

  test("prints no password and no key", () => {
    const printed = lines.join("\n");
    const { users, api_keys } = demo();
    for (const { password } of Object.values<{ password: string }>(users)) expect(printed).not.toContain(password);
    for (const key of Object.values<string>(api_keys)) expect(printed).not.toContain(key);
  });
});

test("--admin creates a super admin with a one-time password, and an audit row", async () => {
  const printed: string[] = [];
  await seed(env, { demo: false, adminEmail: "Boss@Example.com", log: (line) => void printed.push(line) });
  const password = /One-time password:\s+(\S+)/.exec(printed.join("\n"))?.[1] ?? "";
  const [row] = await database.query("select * from app.users where email = 'boss@example.com'");
  expect(row).toMatchObject({ is_super_admin: true, must_change_password: true });
  expect(await verifyPassword(password, row?.password_hash)).toBe(true);
  const audit = await database.query("select action, severity from app.security_audit where object_id = $1", [row?.id]);
  expect(audit).toEqual([{ action: "user.seeded", severity: "high" }]);
});

test("--admin refuses a value that is not an e-mail address", async () => {
  await expect(seed(env, { demo: false, adminEmail: "boss", log })).rejects.toThrow(/e-mail/);
});

test("--tenant creates a tenant, a member who must change the password, and a key of that member", async () => {
  const printed: string[] = [];
  const options = { demo: false, key: true, log: (line: string) => void printed.push(line) };
  const member = { tenant: "initech", email: "Ann@Initech.example", role: "member" } as const;
  await seed(env, { ...options, member });
  const rows = await database.query(
    `select t.slug, m.role, u.must_change_password, u.is_super_admin, u.password_hash, k.kind, k.key_id
     from app.memberships m join app.tenants t on t.id = m.tenant_id join app.users u on u.id = m.user_id
     join app.api_keys k on k.created_by = u.id and k.tenant_id = t.id where u.email = 'ann@initech.example'`,
  );
  const printedKey = /API key:\s+(\S+)/.exec(printed.join("\n"))?.[1] ?? "";
  const person = { role: "member", must_change_password: true, is_super_admin: false };
  expect(rows).toMatchObject([{ slug: "initech", ...person, kind: "tenant", key_id: parseApiKey(printedKey)?.keyId }]);
  const password = /One-time password:\s+(\S+)/.exec(printed.join("\n"))?.[1] ?? "";
  expect(await verifyPassword(password, rows[0]?.password_hash)).toBe(true);
});

test("--member keeps an existing user's password and rights", async () => {
  const standing = "select password_hash, is_super_admin, must_change_password from app.users where email = $1";
  const email = demo().users.super_admin.email;
  const before = await database.query(standing, [email]);
  await seed(env, { demo: false, member: { tenant: "globex", email, role: "viewer" }, log });
  expect(await database.query(standing, [email])).toEqual(before);
});
