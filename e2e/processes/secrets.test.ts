import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { loginOf } from "@/lib/db";
import { processSecrets } from "@/lib/env/process-secrets.mjs";
import { environmentLines } from "@/lib/env/secret-source.mjs";
import { ensureTestBuild, plainEnvironment, waitFor } from "@/lib/testing/processes";
import { openStage } from "./stage";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const stage = await openStage();
await stage.define("seek");
await ensureTestBuild({ pages: false });

const installation = { DATABASE_URL: stage.database.adminUrl, LEASEHOLD_SECRET: stage.database.secret };
const secrets = processSecrets("worker", installation).values;
const FILE_CANARY = randomUUID();
const needles = [
  stage.database.secret,
  loginOf(stage.database.adminUrl).password,
  ...Object.values(secrets).map((value) => (value.startsWith("postgres") ? loginOf(value).password : value)),
  FILE_CANARY,
];
const reversed = needles.map((text) => [...text].reverse().join(""));

type Settings = Record<string, string>;
interface Way {
  readonly asUser: boolean;
  readonly command: readonly string[];
  /** Returns additional settings, given a folder for files with secrets. */
  readonly settings: (config: string) => Settings;
}

/** Starts like `npm run worker` and like the image: its entry point and its worker's command. */
const script = /^exec (.*)$/.exec(JSON.parse(readFileSync("package.json", "utf8")).scripts.worker)?.[1] ?? "";
const [, entry = "the Dockerfile has no entry"] =
  /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
const compose = parse(readFileSync("docker-compose.yml", "utf8"), { merge: true });
const image: string[] = [...JSON.parse(entry), ...compose.services.worker.command];
const entryHere = image
  .filter(
    (word, index) => existsSync("/usr/bin/tini") || !(word === "/usr/bin/tini" || image[index - 1] === "/usr/bin/tini"),
  )
  .map((word) => word.replace(/^\/app\//, ""));

const WAYS: Readonly<Record<string, Way>> = {
  "a worker of root": { asUser: false, command: script.split(" "), settings: () => installation },
  "a worker of an ordinary user": {
    asUser: true,
    command: script.split(" "),
    settings: (config) => ({ SECRETS_FILE: path.join(config, "worker.env") }),
  },
  "the image's entry": {
    asUser: true,
    command: entryHere,
    settings: (config) => ({ ...secrets, SECRETS_FILE: path.join(config, "worker.env") }),
  },
};
/** Secrets in the environment without a namespace: the search must find them. */
const WEAK: Way = {
  asUser: true,
  command: ["node", "dist/test/worker.mjs"],
  settings: () => ({ ...secrets, LEASEHOLD_TEST_NO_ISOLATION: "1" }),
};
/** A root worker that may not mount, as in a container with default capabilities. */
const NO_MOUNTS: Way = {
  asUser: false,
  command: ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--", "node", "dist/test/worker.mjs"],
  settings: () => secrets,
};

/** Starts a worker in a home and a config folder of its user's own, both with secrets in files that only it can read. */
async function startWorker(name: string, { asUser, command, settings }: Way, more: Settings = {}) {
  const own = path.join(stage.base, name.replaceAll(" ", "-"));
  const [home, config] = [path.join(own, "home"), path.join(own, "config")];
  const label = `seek ${name}`;
  for (const folder of [own, home, config]) mkdirSync(folder);
  writeFileSync(path.join(home, "runtime.json"), JSON.stringify({ secret: FILE_CANARY }), { mode: 0o600 });
  const lines = `# ${FILE_CANARY}\n${environmentLines(secrets)}`;
  writeFileSync(path.join(config, "worker.env"), lines, { mode: 0o600 });
  const files = [own, home, config, path.join(home, "runtime.json"), path.join(config, "worker.env")];
  if (isRoot && asUser) for (const file of files) chownSync(file, NOBODY, NOBODY);
  const user = isRoot && asUser ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"] : [];
  const [program = "", ...args] = [...user, ...command];
  const { COMMANDS_UNSAFE_IN_PRODUCTION: _, ...plain } = plainEnvironment();
  const itsOwn = { LEASEHOLD_HOME: home, WORKER_LABEL: label, HEALTH_PORT: "0" };
  const child = spawn(program, args, {
    env: { ...plain, ...stage.env, ...itsOwn, ...settings(config), ...more } as unknown as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    const [code] = await exited;
    rmSync(own, { recursive: true, force: true, maxRetries: 5 });
    expect(code, output).toBe(0);
  });
  await waitFor(
    () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${output}`);
      return output.includes("worker is ready");
    },
    { withinMs: 90_000, what: `the start of ${name}` },
  );
  return { pid: child.pid, own, output: () => output };
}

interface Sought {
  readonly found: readonly string[];
  readonly seen: Readonly<Record<string, number>>;
}

/** Reading the pipes of a process consumes their contents, so this is only for processes out of reach. */
async function seek(own: string, pipes = true): Promise<Sought> {
  const jobId = await stage.enqueue("seek", { reversed, folders: [own, tmpdir()], pipes });
  const job = await stage.settled(jobId, 90_000);
  expect(job.status, job.last_error ?? "").toBe("succeeded");
  return job.result as Sought;
}

describe.skipIf(process.platform !== "linux")("secrets that a command could read", () => {
  const ways = Object.entries(WAYS).filter(([, { asUser }]) => asUser || isRoot);
  test.each(ways)("%s: no process, descriptor or file that a command can read contains a secret", async (name, way) => {
    const worker = await startWorker(name, way);
    const { found, seen } = await seek(worker.own);
    expect(found).toEqual([]);
    expect(seen.environ).toBeGreaterThan(0);
    expect(seen.fd).toBeGreaterThan(0);
    // The shells before it were replaced, so this is the program itself.
    const environ = readFileSync(`/proc/${worker.pid}/environ`, "latin1");
    expect(environ).toContain("LEASEHOLD_HOME=");
    for (const needle of needles) expect(environ).not.toContain(needle);
  });

  test("without isolation the worker's secrets are readable, and the search of this suite finds them", async () => {
    const worker = await startWorker("weak", WEAK, { COMMANDS_UNSAFE_IN_PRODUCTION: "true" });
    const { found } = await seek(worker.own, false);
    for (const place of ["environ /proc/", "runtime.json", "worker.env"]) expect(found.join("\n")).toContain(place);
    expect(worker.output()).toContain("commands are not isolated from the worker");
  });

  const exposed: [what: string, way: Way, exposure: RegExp][] = [
    ["isolation", WEAK, /commands_could_read":"the environment, memory and open files of the worker/],
    ["private mounts", NO_MOUNTS, /commands_could_read":"the list of all processes.*files of all tenants/],
  ];
  test.each(exposed.filter(([, { asUser }]) => asUser || isRoot))(
    "without %s a worker in production starts no command and logs what commands could read",
    async (what, way, exposure) => {
      const worker = await startWorker(what, way);
      expect(worker.output()).toMatch(exposure);
      expect(worker.output()).toContain("none is started");
      const [row] = await stage.database.query<{ isolation: string; definitions: string[] }>(
        "select isolation, definitions from app.job_workers where label = $1",
        [`seek ${what}`],
      );
      expect(row?.isolation).toContain("commands refused");
      expect(row?.definitions).not.toContain("seek");
    },
  );
});
