import { describe, expect, test } from "vitest";
import { loadAdminEnv } from "./admin";
import { type ProcessName, processSecrets } from "./process-secrets.mjs";
import { EnvironmentError, type Source } from "./read";
import { loadSchedulerEnv } from "./scheduler";
import { loadWebEnv } from "./web";
import { loadWorkerEnv } from "./worker";

const SECRET = "a-secret-of-more-than-thirty-two-characters";
const INSTALLATION = { DATABASE_URL: "postgresql://root:pw@db.example.com:5432/leasehold", LEASEHOLD_SECRET: SECRET };
const secretsOf = (name: ProcessName, given: Record<string, string> = INSTALLATION) =>
  processSecrets(name, given).values;
/** Secrets of all processes at once. */
const BASE: Source = { ...secretsOf("web"), ...secretsOf("worker"), ...secretsOf("scheduler") };

function problemsOf(load: (source: Source) => unknown, source: Source): readonly string[] {
  try {
    load(source);
    return [];
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems;
    throw error;
  }
}

describe("reading the environment", () => {
  test.each([
    ["web", loadWebEnv, ["web", "auth", "platform", "worker"], ["AUTH_SECRET", "DATA_KEY"]],
    ["worker", loadWorkerEnv, ["worker", "web"], ["DATA_KEY", "SMTP_URL"]],
    ["scheduler", loadSchedulerEnv, ["scheduler", "web"], []],
  ] as const)(
    "a %s starts with the logins of its own roles and its keys, and its environment contains no others",
    (name, load, roles, keys) => {
      const given = { ...INSTALLATION, SMTP_URL: "smtp://me:mine@mail.example.com" };
      const secrets = secretsOf(name, given);
      expect(Object.keys(secrets).sort()).toEqual(
        [...roles.map((role) => `DATABASE_${role.toUpperCase()}_URL`), ...keys].sort(),
      );
      for (const role of roles)
        expect(new URL(secrets[`DATABASE_${role.toUpperCase()}_URL`] ?? "").username).toBe(`leasehold_${role}`);
      expect(problemsOf(load, secrets)).toEqual([]);
      expect(JSON.stringify(secrets)).not.toMatch(new RegExp(`root|pw@|${SECRET}`));
      for (const lost of Object.keys(secrets).filter((one) => one !== "SMTP_URL")) {
        const rest = Object.fromEntries(
          Object.entries({ ...secrets, ...INSTALLATION }).filter(([one]) => one !== lost),
        );
        expect(problemsOf(load, rest), lost).toEqual([expect.stringMatching(`^${lost} is required`)]);
      }
    },
  );

  test("an explicit secret overrides the derived one, also in a process's environment", () => {
    const own = {
      DATABASE_WORKER_URL: "postgresql://leasehold_worker:mine@db.example.com/leasehold",
      DATA_KEY: SECRET,
    };
    expect(secretsOf("worker", { ...INSTALLATION, ...own })).toMatchObject(own);
    expect(secretsOf("worker", own)).toEqual(own);
    const admin = loadAdminEnv({ ...INSTALLATION, ...own, DATABASE_AUTH_URL: "postgresql://mine:x@db.example.com/x" });
    expect(admin.rolePasswords).toEqual({ worker: "mine" });
  });

  test("DATABASE_DIRECT_URL changes only the listening connection, with the role's login", () => {
    const DATABASE_DIRECT_URL = "postgresql://root:pw@direct.example.com:5433/leasehold";
    const secrets = secretsOf("worker", { ...INSTALLATION, DATABASE_DIRECT_URL });
    expect(JSON.stringify(secrets)).not.toContain("pw@");
    const env = loadWorkerEnv(secrets);
    expect(new URL(env.databaseUrls.listen)).toMatchObject({
      host: "direct.example.com:5433",
      username: "leasehold_worker",
    });
    expect(new URL(env.databaseUrls.worker).host).toBe("db.example.com:5432");
  });

  test("explicit logins need neither DATABASE_URL nor the secret", () => {
    const url = "postgresql://me:mine@db.example.com/leasehold";
    const urls = loadSchedulerEnv({ DATABASE_SCHEDULER_URL: url, DATABASE_WEB_URL: url }).databaseUrls;
    expect(urls).toEqual({ scheduler: url, web: url, listen: url });
  });

  test("keys derive from the one secret, differ from each other, and can be overridden", () => {
    const { authSecret, dataKey } = loadWebEnv(BASE);
    expect(authSecret).not.toBe(dataKey);
    expect(loadAdminEnv(INSTALLATION).dataKey).toBe(dataKey);
    expect(loadWorkerEnv(BASE).dataKey).toBe(dataKey);
    expect(loadWebEnv({ ...BASE, AUTH_SECRET: SECRET }).authSecret).toBe(SECRET);
  });

  test("OPS-16 a missing variable is named", () => {
    expect(problemsOf(loadWebEnv, {})).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^DATABASE_WEB_URL .*npm run secrets -- web/),
        expect.stringContaining("AUTH_SECRET"),
      ]),
    );
    expect(problemsOf(loadAdminEnv, {})).toHaveLength(2);
  });

  test("OPS-16 every wrong variable is listed at once, by name and without its value", () => {
    const mistakes = {
      AUTH_SECRET: "",
      DATA_KEY: "hunter2",
      PORT: "80000",
      SHUTDOWN_GRACE_SECONDS: "abc",
      AUTH_URL: "not-a-value",
      LOG_LEVEL: "loud",
      PROVIDER_ROOTS: "relative/path",
    };
    const problems = problemsOf(loadWebEnv, { ...BASE, ...mistakes });
    for (const name of Object.keys(mistakes)) {
      expect(
        problems.filter((line) => line.startsWith(`${name} `)),
        name,
      ).toHaveLength(1);
    }
    for (const value of ["hunter2", "80000", "abc", "not-a-value", "loud", "relative"]) {
      expect(problems.join("\n")).not.toContain(value);
    }
  });

  test.each(["no", "yes", "TRUE", "2"])("OPS-16 a boolean setting does not accept %j", (value) => {
    expect(problemsOf(loadAdminEnv, { ...INSTALLATION, LEASEHOLD_DEMO: value })).toEqual([
      "LEASEHOLD_DEMO must be true, false, 1 or 0",
    ]);
  });

  test("WH-2 settings that let webhooks reach this machine are refused in production without WEBHOOK_UNSAFE_IN_PRODUCTION", () => {
    const open = { WEBHOOK_LOOPBACK: "127.0.0.1:8080, [::1]:*" };
    for (const load of [loadWebEnv, loadWorkerEnv]) {
      expect(load(BASE).webhooks).toEqual({ loopback: [], allowHttp: false });
      expect(load({ ...BASE, ...open }).webhooks).toEqual({ loopback: ["127.0.0.1:8080", "::1:*"], allowHttp: false });
      for (const unsafe of [open, { WEBHOOK_ALLOW_HTTP: "true" }]) {
        const production = { ...BASE, ...unsafe, NODE_ENV: "production" };
        expect(problemsOf(load, production)).toEqual([expect.stringContaining("WEBHOOK_UNSAFE_IN_PRODUCTION")]);
        expect(problemsOf(load, { ...production, WEBHOOK_UNSAFE_IN_PRODUCTION: "true" })).toEqual([]);
      }
      for (const place of ["10.0.0.1:80", "example.com:80", "127.0.0.1", "localhost:0"])
        expect(problemsOf(load, { ...BASE, WEBHOOK_LOOPBACK: place })).toHaveLength(1);
    }
  });

  test("OPS-16 false is false, and the trailing newline of a secret file is removed", () => {
    expect(loadAdminEnv({ ...INSTALLATION, LEASEHOLD_DEMO: "false" }).demo).toBe(false);
    expect(loadAdminEnv({ ...INSTALLATION, LEASEHOLD_SECRET: `${SECRET}\n` }).secret).toBe(SECRET);
  });

  test("OPS-16 a password can contain an @, and an invalid escape is refused", () => {
    const url = "postgresql://root:p%40ss@db.example.com/leasehold";
    expect(loadAdminEnv({ ...INSTALLATION, DATABASE_URL: url }).adminUrl).toBe(url);
    const broken = { ...INSTALLATION, DATABASE_URL: "postgresql://root:p%ss@db.example.com/leasehold" };
    expect(problemsOf(loadAdminEnv, broken)[0]).toMatch(/^DATABASE_URL must be/);
  });
});
