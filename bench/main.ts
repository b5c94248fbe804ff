import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { killChildren } from "./lib/child";
import { type Options, parseOptions, type Scenario } from "./lib/options";
import { type BenchServer, startServer } from "./lib/server";
import { bands } from "./scenarios/bands";
import { cancel } from "./scenarios/cancel";
import { dependents } from "./scenarios/dependents";
import { depth } from "./scenarios/depth";
import { enqueue } from "./scenarios/enqueue";
import { events } from "./scenarios/events";
import { latency } from "./scenarios/latency";
import { limits } from "./scenarios/limits";
import { links } from "./scenarios/links";
import { noisyTenant } from "./scenarios/noisy-tenant";
import { oldSnapshot } from "./scenarios/old-snapshot";
import { rescue } from "./scenarios/rescue";
import { schedules } from "./scenarios/schedules";
import { settleClaim } from "./scenarios/settle-claim";
import { throughput } from "./scenarios/throughput";

const RUN: Readonly<Record<Scenario, (server: BenchServer, options: Options) => Promise<string>>> = {
  throughput,
  enqueue,
  latency,
  depth,
  dependents,
  links,
  "noisy-tenant": noisyTenant,
  limits,
  schedules,
  events,
  cancel,
  rescue,
  bands,
  "settle-claim": settleClaim,
  "old-snapshot": oldSnapshot,
};

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  // PostgreSQL records the time of a commit only with this setting.
  const more: Record<string, string> = options.scenarios.includes("schedules") ? { track_commit_timestamp: "on" } : {};
  const server = await startServer(more);
  const leave = async (code: number) => {
    killChildren();
    await server.stop();
    process.exit(code);
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => void leave(1));
  try {
    say(
      `${commit()}, Node ${process.version}, PostgreSQL ${server.version}, ${cpus().length} cores, ${options.rounds} rounds`,
    );
    for (const scenario of options.scenarios) {
      say(`\n### ${scenario}\n\n${await RUN[scenario](server, options)}`);
      if (options.statements) say(`\n${(await server.topStatements("bench_leasehold")).join("\n")}`);
    }
    await leave(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    await leave(1);
  }
}

function commit(): string {
  try {
    return `commit ${execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim()}`;
  } catch {
    return "commit unknown";
  }
}

const say = (text: string) => process.stdout.write(`${text}\n`);

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
});
