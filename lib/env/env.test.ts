import { describe, expect, test } from "vitest";
import { loadAdminEnv } from "./admin";
import { EnvironmentError, type Source } from "./read";
import { loadSchedulerEnv } from "./scheduler";
import { loadWebEnv } from "./web";
import { loadWorkerEnv } from "./worker";

const SECRET = "a-secret-of-more-than-thirty-two-characters";
const BASE: Source = { DATABASE_URL: "postgresql://root:pw@db.example.com:5432/leasehold", LEASEHOLD_SECRET: SECRET };

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
  test("each process gets the login of its own role, none the administrator's", () => {
    expect(new URL(loadWebEnv(BASE).databaseUrls.web).username).toBe("leasehold_web");
    expect(new URL(loadWebEnv(BASE).databaseUrls.platform).username).toBe("leasehold_platform");
    expect(new URL(loadWorkerEnv(BASE).databaseUrls.worker).username).toBe("leasehold_worker");
    expect(new URL(loadSchedulerEnv(BASE).databaseUrls.listen).username).toBe("leasehold_scheduler");
    expect(JSON.stringify([loadWebEnv(BASE), loadWorkerEnv(BASE), loadSchedulerEnv(BASE)])).not.toContain("root:pw");
  });

  test("DATABASE_DIRECT_URL moves only the listening connection, with the role's login", () => {
    const env = loadWorkerEnv({
      ...BASE,
      DATABASE_DIRECT_URL: "postgresql://root:pw@direct.example.com:5433/leasehold",
    });
    expect(new URL(env.databaseUrls.listen)).toMatchObject({
      host: "direct.example.com:5433",
      username: "leasehold_worker",
    });
    expect(new URL(env.databaseUrls.worker).host).toBe("db.example.com:5432");
  });

  test("logins given one by one need neither DATABASE_URL nor the secret", () => {
    const url = "postgresql://me:mine@db.example.com/leasehold";
    const urls = loadSchedulerEnv({ DATABASE_SCHEDULER_URL: url, DATABASE_WEB_URL: url }).databaseUrls;
    expect(urls).toEqual({ scheduler: url, web: url, listen: url });
  });

  test("keys derive from the one secret, differ from each other, and can be set", () => {
    const { authSecret, dataKey } = loadWebEnv(BASE);
    expect(authSecret).not.toBe(dataKey);
    expect(loadWorkerEnv(BASE).dataKey).toBe(dataKey);
    expect(loadWebEnv({ ...BASE, AUTH_SECRET: SECRET }).authSecret).toBe(SECRET);
  });

  test("OPS-16 a missing variable is named", () => {
    expect(problemsOf(loadWebEnv, {})).toEqual(
      expect.arrayContaining([expect.stringContaining("DATABASE_URL"), expect.stringContaining("LEASEHOLD_SECRET")]),
    );
    expect(problemsOf(loadAdminEnv, {})).toHaveLength(2);
  });

  test("OPS-16 every wrong variable is listed at once, by name and without its value", () => {
    const wrong = {
      ...BASE,
      AUTH_SECRET: "",
      LEASEHOLD_SECRET: "hunter2",
      PORT: "80000",
      SHUTDOWN_GRACE_SECONDS: "abc",
      AUTH_URL: "not-a-value",
      LOG_LEVEL: "loud",
      PROVIDER_ROOTS: "relative/path",
    };
    const problems = problemsOf(loadWebEnv, wrong);
    for (const name of Object.keys(wrong).slice(1)) {
      expect(
        problems.filter((line) => line.startsWith(`${name} `)),
        name,
      ).toHaveLength(1);
    }
    for (const value of ["hunter2", "80000", "abc", "not-a-value", "loud", "relative"]) {
      expect(problems.join("\n")).not.toContain(value);
    }
  });

  test.each(["no", "yes", "TRUE", "2"])("OPS-16 a switch does not guess what %j means", (value) => {
    expect(problemsOf(loadAdminEnv, { ...BASE, LEASEHOLD_DEMO: value })).toEqual([
      "LEASEHOLD_DEMO must be true, false, 1 or 0",
    ]);
  });

  test("WH-2 what webhooks may reach on this machine does not start in production unless that is asked for as well", () => {
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

  test("OPS-16 false is false, and the newline of a secret file is no part of the secret", () => {
    expect(loadAdminEnv({ ...BASE, LEASEHOLD_DEMO: "false" }).demo).toBe(false);
    expect(loadAdminEnv({ ...BASE, LEASEHOLD_SECRET: `${SECRET}\n` }).secret).toBe(SECRET);
  });

  test("OPS-16 a password may hold an @, and a broken escape is refused", () => {
    const url = "postgresql://root:p%40ss@db.example.com/leasehold";
    expect(loadAdminEnv({ ...BASE, DATABASE_URL: url }).adminUrl).toBe(url);
    const broken = { ...BASE, DATABASE_URL: "postgresql://root:p%ss@db.example.com/leasehold" };
    expect(problemsOf(loadAdminEnv, broken)[0]).toMatch(/^DATABASE_URL must be/);
  });
});
