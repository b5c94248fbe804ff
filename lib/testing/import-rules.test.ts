import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = process.cwd();
const FOLDERS = ["app", "components", "lib", "web", "worker", "scheduler", "admin", "jobs", "drizzle/schema", "e2e"];
const CRUISER = path.join(ROOT, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");

interface Report {
  readonly modules: readonly { source: string }[];
  readonly summary: { violations: readonly { from: string; to: string; rule: { name: string } }[] };
}

/** A tree that keeps every rule; each planted file below breaks one. */
const CLEAN: Record<string, string> = {
  "app/page.ts": `import { scope } from "@/lib/api/route";\nexport const page = scope;`,
  "components/list.ts": `import type { JobStatus } from "@/lib/queue/states";\nexport type Row = JobStatus;`,
  "lib/api/route.ts": `import { enqueue } from "@/lib/queue";\nexport const scope = enqueue;`,
  "lib/async/deadline.ts": `export const deadline = 1;`,
  "lib/auth/user.ts": `import pg from "pg";\nexport const user = pg;`,
  "lib/client/jobs.ts": `export const jobs = 1;`,
  "components/kind.ts": `import type { Wire } from "@/lib/contract";\nexport type Kind = Wire;`,
  "lib/contract/index.ts": `import type { JobStatus } from "@/lib/queue/states";\nexport type Wire = JobStatus;\nexport const LIMITS = 1;`,
  "lib/db/index.ts": `import pg from "pg";\nexport const db = pg;`,
  "lib/env/worker.ts": `export const env = 1;`,
  "lib/process/index.ts": `export const stop = 1;`,
  "lib/queue/index.ts": `export { enqueue } from "./enqueue/enqueue";`,
  "lib/queue/worker.ts": `export { enqueue } from "./enqueue/enqueue";`,
  "lib/queue/scheduler.ts": `export { enqueue } from "./enqueue/enqueue";`,
  "lib/queue/remote.ts": `export { enqueue } from "./enqueue/enqueue";`,
  "lib/queue/testing.ts": `export * from "./index";\nexport * from "./worker";`,
  "lib/queue/enqueue/enqueue.ts": `import { deadline } from "@/lib/async/deadline";\nimport { insert } from "./insert.sql";\nexport const enqueue = [deadline, insert];`,
  "lib/queue/enqueue/insert.sql.ts": `import { db } from "@/lib/db";\nexport const insert = db;`,
  "lib/queue/retry/retry.policy.ts": `export const retry = 1;`,
  "lib/queue/states.ts": `export type JobStatus = "queued";`,
  "lib/testing/database.ts": `import pg from "pg";\nexport const testDatabase = pg;`,
  "lib/queue/enqueue/enqueue.test.ts": `import { testDatabase } from "@/lib/testing/database";\nexport const t = testDatabase;`,
  "lib/api/remote/claim.ts": `import { enqueue } from "@/lib/queue/remote";\nimport { hub } from "@/web/live/hub";\nexport const claim = [enqueue, hub];`,
  "web/live/hub.ts": `export const hub = 1;`,
  "web/front/front.ts": `export const front = 1;`,
  "web/main.ts": `import { front } from "./front/front";\nexport const main = front;`,
  "admin/main.ts": `import { enqueue } from "@/lib/queue";\nexport const main = enqueue;`,
  "worker/main.ts": `import { enqueue } from "@/lib/queue/worker";\nimport { env } from "@/lib/env/worker";\nexport const main = [enqueue, env];`,
  "scheduler/main.ts": `import { enqueue } from "@/lib/queue/scheduler";\nexport const main = enqueue;`,
  "jobs/index.ts": `export const handlers = 1;`,
  "drizzle/schema/jobs.ts": `import { pgTable } from "drizzle-orm/pg-core";\nexport const jobs = pgTable;`,
  "e2e/api/jobs.test.ts": `import { testDatabase } from "@/lib/testing/database";\nexport const t = testDatabase;`,
};

const PLANTED: readonly [rule: string, file: string, content: string][] = [
  ["no-cycles", "lib/process/ring-other.ts", `import { ring } from "./ring";\nexport const other = ring;`],
  [
    "queue-is-transport-free",
    "lib/queue/enqueue/http.ts",
    `import { stop } from "@/lib/process";\nexport const x = stop;`,
  ],
  [
    "queue-is-transport-free",
    "lib/queue/enqueue/page.ts",
    `import { useState } from "react";\nexport const x = useState;`,
  ],
  ["policy-is-pure", "lib/queue/retry/reads.policy.ts", `import { db } from "@/lib/db";\nexport const x = db;`],
  [
    "policy-is-pure",
    "lib/queue/retry/sleeps.policy.ts",
    `import { setTimeout } from "node:timers/promises";\nexport const x = setTimeout;`,
  ],
  [
    "policy-is-pure",
    "lib/queue/retry/states.policy.ts",
    `import { insert } from "../enqueue/insert.sql";\nexport const x = insert;`,
  ],
  [
    "policy-is-pure",
    "lib/queue/retry/acts.policy.ts",
    `import { enqueue } from "../enqueue/enqueue";\nexport const x = enqueue;`,
  ],
  ["sql-only-in-sql", "lib/api/sql.ts", `import pg from "pg";\nexport const x = pg;`],
  [
    "sql-only-in-sql",
    "worker/table.ts",
    `import type { jobs } from "@/drizzle/schema/jobs";\nexport type X = typeof jobs;`,
  ],
  [
    "queue-by-its-doors",
    "lib/api/inside.ts",
    `import { retry } from "@/lib/queue/retry/retry.policy";\nexport const x = retry;`,
  ],
  [
    "queue-by-its-doors",
    "app/other-door.ts",
    `import { enqueue } from "@/lib/queue/worker";\nexport const x = enqueue;`,
  ],
  ["queue-by-its-doors", "worker/web-door.ts", `import { enqueue } from "@/lib/queue";\nexport const x = enqueue;`],
  [
    "queue-by-its-doors",
    "lib/api/remote/web-door.ts",
    `import { enqueue } from "@/lib/queue";\nexport const x = enqueue;`,
  ],
  [
    "queue-by-its-doors",
    "lib/db/test-door.ts",
    `import { enqueue } from "@/lib/queue/testing";\nexport const x = enqueue;`,
  ],
  ["processes-are-headless", "worker/auth.ts", `import { user } from "@/lib/auth/user";\nexport const x = user;`],
  ["worker-scheduler-apart", "scheduler/peek.ts", `import { main } from "@/worker/main";\nexport const x = main;`],
  ["components-are-client-safe", "components/reads.ts", `import { db } from "@/lib/db";\nexport const x = db;`],
  ["components-are-client-safe", "lib/client/type.ts", `export type { enqueue } from "@/lib/queue";`],
  ["no-zod-in-pages", "components/limit.ts", `import { LIMITS } from "@/lib/contract";\nexport const x = LIMITS;`],
  ["no-zod-in-pages", "lib/client/checks.ts", `import * as z from "zod";\nexport const x = z;`],
  ["lib-never-imports-app", "lib/api/page.ts", `import { page } from "@/app/page";\nexport const x = page;`],
  ["lib-never-imports-app", "lib/api/front.ts", `import { front } from "@/web/front/front";\nexport const x = front;`],
  ["app-has-no-database", "app/reads.ts", `import { db } from "@/lib/db";\nexport const x = db;`],
  ["contract-is-leaf", "lib/contract/reads.ts", `import { jobs } from "@/lib/client/jobs";\nexport const x = jobs;`],
  ["async-is-leaf", "lib/async/reads.ts", `import { stop } from "@/lib/process";\nexport const x = stop;`],
  ["schema-is-leaf", "drizzle/schema/reads.ts", `import { stop } from "@/lib/process";\nexport const x = stop;`],
  [
    "testing-only-from-tests",
    "lib/api/fake.ts",
    `import { testDatabase } from "@/lib/testing/database";\nexport const x = testDatabase;`,
  ],
];
const HELPERS = { "lib/process/ring.ts": `import { other } from "./ring-other";\nexport const ring = other;` };

function cruise(cwd: string): Report {
  const folders = FOLDERS.filter((folder) => existsSync(path.join(cwd, folder)));
  const args = [CRUISER, "--config", ".dependency-cruiser.cjs", "--output-type", "json", ...folders];
  try {
    return JSON.parse(execFileSync(process.execPath, args, { cwd, encoding: "utf8", maxBuffer: 1e9 }));
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    if (!stdout?.startsWith("{")) throw error;
    return JSON.parse(stdout);
  }
}

function write(folder: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
}

function typeScriptFiles(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
    .map((name) => path.posix.join(folder, name));
}

describe("import rules", () => {
  let tree: string;
  beforeAll(() => {
    tree = mkdtempSync(path.join(tmpdir(), "leasehold-rules-"));
    for (const file of [".dependency-cruiser.cjs", "tsconfig.json", "package.json"]) {
      cpSync(path.join(ROOT, file), path.join(tree, file));
    }
    symlinkSync(path.join(ROOT, "node_modules"), path.join(tree, "node_modules"));
    write(tree, CLEAN);
  });
  afterAll(() => rmSync(tree, { recursive: true, force: true }));

  test("a tree without violations is reported clean and read completely", () => {
    const { modules, summary } = cruise(tree);
    expect(summary.violations).toEqual([]);
    expect(modules.map(({ source }) => source)).toEqual(expect.arrayContaining(Object.keys(CLEAN)));
  });

  test("each rule reports a file that violates it", () => {
    write(tree, { ...HELPERS, ...Object.fromEntries(PLANTED.map(([, file, content]) => [file, content])) });
    const { violations } = cruise(tree).summary;
    const caught = new Set(violations.map(({ rule, from }) => `${rule.name} ${from}`));
    for (const [rule, file] of PLANTED) expect(caught).toContain(`${rule} ${file}`);
    const rules = new Set(violations.map(({ rule }) => rule.name));
    expect(rules.size).toBe(15);
  });

  test("the repository has no violation, and every file is read", () => {
    const { modules, summary } = cruise(ROOT);
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
    const files = FOLDERS.filter((folder) => existsSync(path.join(ROOT, folder))).flatMap(typeScriptFiles);
    expect(modules.map(({ source }) => source)).toEqual(expect.arrayContaining(files));
  }, 120_000);
});
