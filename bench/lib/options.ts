export const SCENARIOS = [
  "throughput",
  "enqueue",
  "latency",
  "depth",
  "noisy-tenant",
  "limits",
  "schedules",
  "events",
  "dependents",
  "links",
  "cancel",
  "rescue",
  "bands",
  "settle-claim",
  "old-snapshot",
] as const;
export type Scenario = (typeof SCENARIOS)[number];

export interface Options {
  readonly scenarios: readonly Scenario[];
  readonly rounds: number;
  /** Jobs of a round, for scenarios that count in jobs. */
  readonly jobs: number;
  /** Sizes of the backlog, for scenarios that measure several. */
  readonly backlogs: readonly number[];
  readonly quick: boolean;
  /** Systems to run; empty = all. */
  readonly only: readonly string[];
  /** The folder of another checkout, which takes part as the system `before`. */
  readonly against?: string | undefined;
  /** True to list the statements that took the database's time. */
  readonly statements: boolean;
}

const BACKLOGS = [10_000, 50_000, 100_000];

export const USAGE = `usage: npm run bench -- ${SCENARIOS.join(" | ")} [--quick] [--rounds N] [--jobs N] [--only SYSTEM,…] [--against FOLDER] [--statements]`;

/** @throws Error that names the invalid option */
export function parseOptions(args: readonly string[]): Options {
  const scenarios = args.filter((arg): arg is Scenario => (SCENARIOS as readonly string[]).includes(arg));
  const quick = args.includes("--quick");
  const known = new Set<string>([...scenarios, "--quick", "--statements"]);
  const argumentOf = (name: string) => {
    const at = args.indexOf(name);
    if (at === -1) return undefined;
    known.add(name).add(args[at + 1] ?? "");
    return args[at + 1];
  };
  const numberOf = (name: string, fallback: number) => {
    const value = Number(argumentOf(name) ?? fallback);
    if (!Number.isInteger(value) || value < 1) throw new Error(`${name} wants a whole number.\n${USAGE}`);
    return value;
  };
  const jobs = numberOf("--jobs", quick ? 5000 : 30_000);
  const options = {
    scenarios,
    quick,
    statements: args.includes("--statements"),
    rounds: numberOf("--rounds", quick ? 3 : 5),
    jobs,
    backlogs: quick || known.has("--jobs") ? [jobs] : BACKLOGS,
    only: argumentOf("--only")?.split(",") ?? [],
    against: argumentOf("--against"),
  };
  const strange = args.find((arg) => !known.has(arg));
  if (strange !== undefined) throw new Error(`${strange}: not understood.\n${USAGE}`);
  if (scenarios.length === 0) throw new Error(USAGE);
  return options;
}
