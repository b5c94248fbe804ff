import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const read = (file: string) => readFileSync(file, "utf8");
const { scripts }: { scripts: Record<string, string> } = JSON.parse(read("package.json"));
const compose = read("docker-compose.yml");

/** The part of the compose file that belongs to one service. */
function service(name: string): string {
  return new RegExp(`^  ${name}:\\n((?:    .*\\n|\\n)+)`, "m").exec(compose)?.[1] ?? "";
}

function commandOf(text: string): string | undefined {
  const list = /^\s*(?:command:|CMD) (\[.*\])$/m.exec(text)?.[1];
  return list && (JSON.parse(list) as string[]).join(" ");
}

describe("OPS-01 the container runs node itself, so that signals reach it", () => {
  test.each(["web", "worker", "scheduler"])("%s in the compose file is npm's script, without npm", (name) => {
    expect(`exec ${commandOf(service(name))}`).toBe(scripts[name]);
  });

  test("migrate likewise, and the others wait for it", () => {
    expect(`exec ${commandOf(service("migrate"))}`).toBe(scripts["db:migrate"]);
    expect(compose).toMatch(/migrate:\n\s+condition: service_completed_successfully/);
  });

  test("the image's own command is the web process", () => {
    expect(`exec ${commandOf(read("Dockerfile"))}`).toBe(scripts.web);
  });

  test("the image does not run as root, and docker waits longer than a drain takes", () => {
    expect(read("Dockerfile")).toMatch(/^USER node$/m);
    expect(Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1])).toBeGreaterThan(35);
  });

  test("no secret has a default", () => {
    for (const name of ["LEASEHOLD_SECRET", "POSTGRES_PASSWORD"]) {
      expect(compose).toContain(`\${${name}:?`);
      expect(compose).not.toMatch(new RegExp(`\\$\\{${name}:-`));
    }
  });
});

test("every long-lived script replaces npm's shell, which would swallow signals", () => {
  for (const name of ["start", "dev", "test", "web", "worker", "scheduler"])
    expect(scripts[name]).toMatch(/^exec node /);
});
