import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddedServer, startEmbedded } from "@/lib/db/embedded/index.mjs";
import { hasProc, npm, processesAbout, urlOf } from "@/lib/testing/installation";
import { ensureTestBuild, waitFor } from "@/lib/testing/processes";

const base = mkdtempSync(path.join(tmpdir(), "leasehold start "));

beforeAll(async () => {
  chmodSync(base, 0o755);
  await ensureTestBuild({ pages: true });
});
afterAll(() => {
  for (const { pid } of processesAbout(base)) process.kill(pid, "SIGKILL");
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

describe.skipIf(!hasProc)("npm start with DATABASE_URL", () => {
  const own = path.join(base, "own");
  let server: EmbeddedServer;

  beforeAll(async () => {
    server = await startEmbedded({
      home: path.join(base, "server"),
      password: "pw",
      durable: false,
      pgBin: process.env.PG_BIN,
    });
  });
  afterAll(() => server.stop());

  test("refuses --new-demo, which would delete nothing in that database", async () => {
    const env = { LEASEHOLD_HOME: own, DATABASE_URL: server.adminUrl("leasehold") };
    const refused = npm(["start", "--", "--new-demo"], env);
    expect(await refused.exited).toBe(1);
    expect(refused.output()).toContain("DATABASE_URL names another one");
  });

  test("requires LEASEHOLD_SECRET for a database on another machine, and names it", async () => {
    const refused = npm(["start"], {
      LEASEHOLD_HOME: own,
      DATABASE_URL: "postgresql://root:s3cret@db.invalid/leasehold",
    });
    expect(await refused.exited).toBe(1);
    expect(refused.output()).toContain("LEASEHOLD_SECRET is required");
    expect(refused.output()).not.toContain("s3cret");
  });

  test("generates a secret for a database on this machine, and neither starts a server nor seeds a demo", async () => {
    const env = { LEASEHOLD_HOME: own, DATABASE_URL: server.adminUrl("leasehold") };
    const started = npm(["start"], env);
    const url = await urlOf(started);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(processesAbout(own).filter(({ command }) => command.includes("postgres -D"))).toEqual([]);
    expect(JSON.parse(readFileSync(path.join(own, "runtime.json"), "utf8")).secret).toMatch(/.{32,}/);
    expect(() => statSync(path.join(own, "demo.json"))).toThrow();

    const seeded = npm(["run", "db:seed", "--", "--admin", "Me@Example.com"], env);
    expect(await seeded.exited).toBe(0);
    expect(seeded.output()).toMatch(/me@example\.com[\s\S]*One-time password:\s+\S{16,}/);
    started.signal("SIGTERM");
    await started.exited;
    await waitFor(() => processesAbout(own).length === 0);
  });
});
