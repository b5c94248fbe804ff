import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processSecrets } from "@/lib/env/process-secrets.mjs";
import { hasProc, type NpmRun, npm, type ProcessLine, processesAbout, urlOf } from "@/lib/testing/installation";
import { ensureTestBuild, waitFor } from "@/lib/testing/processes";

const base = mkdtempSync(path.join(tmpdir(), "leasehold start "));
const home = path.join(base, "data with spaces");
const settings = { LEASEHOLD_HOME: home };

const readJson = (name: string) => JSON.parse(readFileSync(path.join(home, name), "utf8"));
const member = (name: string) => processesAbout(home).find(({ command }) => command.includes(`dist/test/${name}.mjs`));
const nothingLeft = () =>
  waitFor(() => processesAbout(home).length === 0, { withinMs: 8000, what: "the end of every process" });

function kill(found: ProcessLine | undefined): void {
  if (!found) throw new Error("there is no such process to kill");
  process.kill(found.pid, "SIGKILL");
}

let run: NpmRun;
let blocker: Server | undefined;

async function start(env: Record<string, string> = {}): Promise<string> {
  run = npm(["start"], { ...settings, ...env });
  return urlOf(run);
}

async function ask(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(readJson("runtime.json").admin_url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Starts jobs whose handlers run for a minute and ignore the request to stop. */
async function runDeafJobs(): Promise<void> {
  const { base_url, api_keys } = readJson("demo.json");
  const post = async (route: string, key: string, body: unknown) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(`${base_url}/api/v1/${route}`, { method: "POST", headers, body: JSON.stringify(body) });
    expect([route, answer.status]).toEqual([route, 201]);
  };
  const deaf = { key: "harm", executor: "handler", kill_grace_seconds: 20 };
  await post("admin/jobs/definitions", api_keys.super_admin, deaf);
  const job = { definition_key: "harm", payload: { how: "fine", ms: 60_000 } };
  for (let n = 0; n < 3; n += 1) await post("jobs", api_keys.acme, job);
  const running = `select 1 from app.live_jobs l join app.jobs j on j.id = l.job_id
    join app.job_definitions d on d.id = j.definition_id where d.key = 'harm' and l.state = 'running'`;
  await waitFor(async () => (await ask(running)).length === 3, { withinMs: 30_000, what: "the start of every job" });
}

beforeAll(async () => {
  chmodSync(base, 0o755);
  await ensureTestBuild({ pages: true });
});
afterAll(() => {
  for (const { pid } of processesAbout(base)) process.kill(pid, "SIGKILL");
  blocker?.close();
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

// One installation, one story: each test continues where the previous one stopped.
describe.skipIf(!hasProc)("npm start", () => {
  test("starts all processes although port 3000 is in use, and prints the actual URL", async () => {
    blocker = createServer()
      .on("error", () => {})
      .listen(3000, "127.0.0.1");
    const url = await start();
    expect(url).not.toBe("http://127.0.0.1:3000");
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    for (const name of ["web", "worker", "scheduler"]) expect(member(name), name).toBeDefined();
  });

  test("writes the demo's logins in the documented format, readable by their owner only", () => {
    expect(statSync(path.join(home, "demo.json")).mode & 0o777).toBe(0o600);
    expect(statSync(path.join(home, "runtime.json")).mode & 0o777).toBe(0o600);
    const login = { email: expect.stringContaining("@"), password: expect.stringMatching(/.{16,}/) };
    const users = ["super_admin", "acme_admin", "acme_member", "acme_viewer", "globex_admin"];
    const provider = { id: expect.any(String), path: expect.stringMatching(/^\//) };
    expect(readJson("demo.json")).toEqual({
      base_url: readJson("runtime.json").web_url,
      tenants: { acme: { id: expect.any(String), slug: "acme" }, globex: { id: expect.any(String), slug: "globex" } },
      users: Object.fromEntries(users.map((name) => [name, login])),
      api_keys: Object.fromEntries(
        ["acme", "globex", "super_admin", "worker"].map((name) => [name, expect.stringMatching(/^lhk_/)]),
      ),
      providers: { acme: provider, globex: provider },
    });
    expect(
      new Set(Object.values(readJson("demo.json").users).map((user) => (user as typeof login).password)).size,
    ).toBe(5);
  });

  test("no process has a secret in its environment or on its command line", () => {
    const { secret, pg_password, admin_url } = readJson("runtime.json");
    const given = { DATABASE_URL: admin_url, LEASEHOLD_SECRET: secret };
    for (const text of [secret, pg_password, ...Object.values(processSecrets("web", given).values)])
      expect(processesAbout(text)).toEqual([]);
  });

  test("the demo's key opens its own tenant only", async () => {
    const { base_url, api_keys, tenants } = readJson("demo.json");
    const status = async (tenant: string) => {
      const headers = { authorization: `Bearer ${api_keys.acme}`, "x-tenant-id": tenant };
      return (await fetch(`${base_url}/api/v1/jobs`, { headers })).status;
    };
    expect(await status(tenants.acme.id)).toBe(200);
    expect([403, 404]).toContain(await status(tenants.globex.id));
  });

  test("a second start in the same folder reports where the first one runs", async () => {
    const second = npm(["start"], settings);
    expect(await second.exited).toBe(0);
    expect(second.output()).toContain(`already running at ${readJson("runtime.json").web_url}`);
  });

  test.each(["worker", "scheduler"])(
    "npm run %s joins it, and SIGTERM to npm drains the process once and exits 0",
    async (name) => {
      const joined = npm(["run", name], { ...settings, LOG_FORMAT: "json" });
      await waitFor(() => /"health_?port":\d+/i.test(joined.output()), {
        withinMs: 20_000,
        what: `the banner of ${name}`,
      });
      joined.signal("SIGTERM");
      expect(await joined.exited).toBe(0);
      expect(joined.output().match(/"msg":"draining"/g)).toHaveLength(1);
    },
  );

  test("Ctrl-C on npm run worker drains the worker once and exits 0", async () => {
    const joined = npm(["run", "worker"], { ...settings, LOG_FORMAT: "json" });
    await waitFor(() => /"health_?port":\d+/i.test(joined.output()), { withinMs: 20_000, what: "the banner" });
    joined.signalGroup("SIGINT");
    expect(await joined.exited).toBe(0);
    expect(joined.output().match(/"msg":"draining"/g)).toHaveLength(1);
  });

  test("a killed worker is restarted", async () => {
    const before = member("worker");
    kill(before);
    const after = await waitFor(() => {
      const found = member("worker");
      return found && found.pid !== before?.pid ? found : null;
    });
    expect(after.parent).toBe(readJson("runtime.json").supervisor_pid);
    expect(run.output()).toContain("starting it again");
  });

  test("SIGTERM to npm stops all processes", async () => {
    await ask("create table public.kept as select 42 as n");
    run.signal("SIGTERM");
    await run.exited;
    expect(run.output()).toMatch(/Stopped\.\s*$/);
    await nothingLeft();
  });

  test("the second start takes seconds and keeps data and logins", async () => {
    const { users } = readJson("demo.json");
    const began = Date.now();
    await start();
    expect(Date.now() - began).toBeLessThan(30_000);
    expect(await ask("select n from public.kept")).toEqual([{ n: 42 }]);
    expect(readJson("demo.json").users).toEqual(users);
    expect(await ask("select count(*)::int as n from app.tenants")).toEqual([{ n: 2 }]);
  });

  test("Ctrl-C in a terminal stops everything, workers before the database", async () => {
    run.signalGroup("SIGINT");
    await run.exited;
    expect(run.output()).toMatch(/Stopped\.\s*$/);
    expect(run.output()).not.toMatch(/ERROR|FATAL/);
    await nothingLeft();
  });

  test("kill -9 of the supervisor leaves no process, and the next start works", async () => {
    await start();
    process.kill(readJson("runtime.json").supervisor_pid, "SIGKILL");
    await run.exited;
    await nothingLeft();
    await start();
    expect(await ask("select n from public.kept")).toEqual([{ n: 42 }]);
  });

  test("a worker that keeps crashing is restarted with growing pauses, and the other processes keep running", async () => {
    const { web_url, supervisor_pid } = readJson("runtime.json");
    const others = ["web", "scheduler"].map((name) => member(name)?.pid);
    let last = 0;
    for (let crash = 1; crash <= 5; crash++) {
      const next = () => {
        const found = member("worker");
        return found && found.pid !== last ? found.pid : null;
      };
      last = await waitFor(next, { withinMs: 60_000, what: `worker number ${crash}` });
      process.kill(last, "SIGKILL");
    }
    await waitFor(() => /worker ended \(SIGKILL, crash 5 in a row\); starting it again in 8 s/.test(run.output()), {
      withinMs: 60_000,
      what: "the message about the fifth crash",
    });
    expect((await fetch(`${web_url}/readyz`)).status).toBe(200);
    expect(["web", "scheduler"].map((name) => member(name)?.pid)).toEqual(others);
    process.kill(supervisor_pid, "SIGTERM");
    await run.exited;
    await nothingLeft();
  });

  test("without a commands file only the worker does not start, until the file exists", async () => {
    const file = path.join(base, "commands.json");
    const url = await start({ COMMANDS_FILE: file });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(run.output()).toMatch(/worker ended \(1\); starting it again/);
    writeFileSync(file, "{}", { mode: 0o644 });
    await waitFor(() => run.output().includes("worker is ready"), { withinMs: 120_000, what: "the worker" });
    run.signal("SIGTERM");
    await run.exited;
    await nothingLeft();
  });

  test.each(["web", "postgres"])(
    "a crash of %s stops all processes within seconds, even while jobs run",
    async (name) => {
      await start();
      const victim =
        name === "web" ? member("web") : processesAbout(home).find(({ command }) => /bin\/postgres -D/.test(command));
      if (name === "postgres") await runDeafJobs();
      const killedAt = Date.now();
      kill(victim);
      expect(await run.exited).toBe(1);
      // Without a database the ends of jobs cannot be stored, so the grace of thirty seconds does not apply.
      expect(Date.now() - killedAt).toBeLessThan(20_000);
      expect(run.output()).toMatch(/ended unexpectedly/);
      await nothingLeft();
    },
  );

  test("--new-demo deletes the demo's data and creates a new demo with its own logins", async () => {
    const { users } = readJson("demo.json");
    run = npm(["start", "--", "--new-demo"], settings);
    await urlOf(run);
    expect(await ask("select to_regclass('public.kept') as kept")).toEqual([{ kept: null }]);
    expect(await ask("select count(*)::int as n from app.tenants")).toEqual([{ n: 2 }]);
    expect(readJson("demo.json").users).not.toEqual(users);
    run.signal("SIGTERM");
    await run.exited;
    await nothingLeft();
  });

  test("a requested PORT that is in use is an error that names it", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as { port: number };
    const refused = npm(["start"], { ...settings, PORT: String(port) });
    expect(await refused.exited).toBe(1);
    expect(refused.output()).toContain(`Port ${port} is taken`);
    taken.close();
    await nothingLeft();
  });

  test("npm run worker without an installation to join reports what is missing", async () => {
    const lonely = npm(["run", "worker"], settings);
    expect(await lonely.exited).toBe(1);
    expect(lonely.output()).toContain("DATABASE_URL is not set");
  });
});
