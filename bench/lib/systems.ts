import path from "node:path";
import { processSecrets } from "@/lib/env/process-secrets.mjs";
import { Child } from "./child";
import { type BenchServer, query } from "./server";

/** Slots of a worker, the same for all systems. */
export const CONCURRENCY = 50;

export interface WorkerOptions {
  /** The worker reports when this many jobs have started. */
  readonly expected?: number;
  readonly concurrency?: number;
  /** Duration of a job. */
  readonly workMs?: number;
  /** True if each start is reported. */
  readonly reportsStarts?: boolean;
}

interface SystemSpec {
  readonly name: string;
  /** The checkout whose programs run, and their working folder. */
  readonly root: string;
  /** Arguments of Node for the program that enqueues, and for the one that works. */
  readonly client: readonly string[];
  readonly worker: readonly string[];
  readonly workerEnv: (options: WorkerOptions) => Readonly<Record<string, string>>;
  /** Returns one row while a job is unfinished. */
  readonly unfinished: string;
  /** Programs of the system that run beside its workers. */
  readonly beside?: readonly (readonly string[])[];
}

const bench = (...parts: string[]) => path.join(import.meta.dirname, "..", ...parts);
const ROOT = bench("..");
/** The system name of another checkout. */
export const BEFORE = "before";

const commonEnv = ({ expected = 0, workMs = 0, reportsStarts = false }: WorkerOptions) => ({
  BENCH_EXPECTED: String(expected),
  BENCH_WORK_MS: String(workMs),
  BENCH_TELL: reportsStarts ? "1" : "0",
});

const graphile = (name: string, variant: "plain" | "batched"): SystemSpec => ({
  name,
  root: ROOT,
  client: [bench("peers", "graphile-worker.mjs"), "client"],
  worker: [bench("peers", "graphile-worker.mjs"), "worker"],
  workerEnv: (options) => ({
    ...commonEnv(options),
    BENCH_VARIANT: variant,
    BENCH_CONCURRENCY: String(options.concurrency ?? CONCURRENCY),
  }),
  unfinished: "select 1 from graphile_worker._private_jobs limit 1",
});

const leasehold = (name: string, root: string): SystemSpec => {
  const built = (program: string) => [path.join(root, "bench", "dist", `${program}.mjs`)];
  return {
    name,
    root,
    client: built("client"),
    worker: built("worker"),
    workerEnv: (options) => ({
      ...commonEnv(options),
      WORKER_CONCURRENCY: String(options.concurrency ?? CONCURRENCY),
      LOG_FORMAT: "json",
      COMMANDS_FILE: path.join(root, "bench", "leasehold", "commands.json"),
      SHUTDOWN_GRACE_SECONDS: "5",
    }),
    unfinished: "select 1 from app.live_jobs limit 1",
    beside: [built("scheduler")],
  };
};

const SPECS: readonly SystemSpec[] = [
  leasehold("leasehold", ROOT),
  graphile("graphile", "plain"),
  graphile("graphile-batched", "batched"),
  {
    name: "pg-boss",
    root: ROOT,
    client: [bench("peers", "pg-boss.mjs"), "client"],
    worker: [bench("peers", "pg-boss.mjs"), "worker"],
    workerEnv: (options) => ({
      ...commonEnv(options),
      ...(options.concurrency && { BENCH_CONCURRENCY: String(options.concurrency), BENCH_BATCH: "1" }),
    }),
    unfinished: "select 1 from pgboss.job where state < 'completed' and name = 'noop' limit 1",
  },
];

export const SYSTEMS: readonly string[] = SPECS.map(({ name }) => name);

/** One queue under test, in a database of its own. */
export class System {
  readonly client: Child;

  private constructor(
    private readonly spec: SystemSpec,
    private readonly env: Readonly<Record<string, string>>,
    private readonly beside: readonly Child[],
    readonly adminUrl: string,
  ) {
    this.client = new Child(spec.client, env, spec.root);
  }

  get name(): string {
    return this.spec.name;
  }

  static async open(
    server: BenchServer,
    name: string,
    { tenants = 1, against }: { readonly tenants?: number; readonly against?: string | undefined } = {},
  ): Promise<System> {
    const spec = name === BEFORE && against ? leasehold(BEFORE, against) : SPECS.find((one) => one.name === name);
    if (!spec) throw new Error(`There is no system ${name}; there are ${SYSTEMS.join(", ")}.`);
    const adminUrl = await server.createDatabase(`bench_${name.replaceAll("-", "_")}_${Date.now() % 1e7}`);
    const env = { DATABASE_URL: adminUrl, LEASEHOLD_SECRET: server.secret };
    const beside: Child[] = [];
    const system = new System(spec, env, beside, adminUrl);
    await system.client.next("ready");
    await system.client.call("prepare", { tenants });
    for (const program of spec.beside ?? []) {
      const secrets = { ...env, ...processSecrets("scheduler", env).values };
      const child = new Child(program, { ...secrets, SHUTDOWN_GRACE_SECONDS: "1" }, spec.root);
      await child.next("ready");
      beside.push(child);
    }
    return system;
  }

  /** Empties the queue and its history, and leaves no dead rows of a former round. */
  async reset(): Promise<void> {
    await this.client.call("reset");
    await query(this.adminUrl, "vacuum analyze");
  }

  /** Starts a worker. It may start jobs before this resolves, so listen to it at once. */
  startWorker(options: WorkerOptions): Child {
    // The other systems connect by DATABASE_URL.
    const secrets = { ...this.env, ...processSecrets("worker", this.env).values };
    return new Child(this.spec.worker, { ...secrets, ...this.spec.workerEnv(options) }, this.spec.root);
  }

  async isDone(): Promise<boolean> {
    return (await query(this.adminUrl, this.spec.unfinished)).length === 0;
  }

  async close(): Promise<void> {
    await Promise.all([this.client, ...this.beside].map((child) => child.stop()));
  }
}

/**
 * Returns the systems in another order each round: all rotations, then all rotations of the reverse order. Each system
 * runs first, last and after each other one as often as the others, so that no place in the order is an advantage.
 */
export function inTurn<One>(all: readonly One[], round: number): readonly One[] {
  const first = round % all.length;
  const rotated = [...all.slice(first), ...all.slice(0, first)];
  return Math.floor(round / all.length) % 2 === 0 ? rotated : rotated.toReversed();
}

/** Opens the systems of a scenario. */
export async function openSystems(
  server: BenchServer,
  {
    only,
    against,
    tenants = 1,
    without = [],
  }: {
    readonly only: readonly string[];
    readonly against?: string | undefined;
    readonly tenants?: number;
    readonly without?: readonly string[];
  },
): Promise<System[]> {
  const asked = only.length > 0 ? only : SYSTEMS.filter((name) => !without.includes(name));
  const names = against === undefined ? asked : [...asked, BEFORE];
  const systems: System[] = [];
  for (const name of names) systems.push(await System.open(server, name, { tenants, against }));
  return systems;
}
