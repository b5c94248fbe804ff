/*
 * The only code besides `scripts/` that reads `process.env`. Each process validates its settings once at start, and
 * lists every problem by name without values. Secrets are removed from the environment when first read, so no child
 * process inherits one.
 *
 * Start with this file, then `web.ts`, `worker.ts` and `scheduler.ts` (the settings of each process),
 * `secret-source.mjs` (where secrets come from) and `process-secrets.mjs` (which process needs which secret).
 */

import type { z } from "zod";
import { heldSecrets } from "./secret-source.mjs";

export type Source = Readonly<Record<string, string | undefined>>;

/** Lists every missing or invalid variable, by name and rule. Never shows values, because they may be secrets. */
export class EnvironmentError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The environment is not usable:\n${problems.map((line) => `  - ${line}`).join("\n")}`);
    this.name = "EnvironmentError";
    this.problems = problems;
  }
}

/**
 * Reads a process's settings from its environment and its secrets. Surrounding white space (the newline of a secret
 * file) is removed. A variable that is set but empty is an error, because its author meant neither "unset" nor "".
 * @throws EnvironmentError
 */
export function readEnv<S extends z.ZodObject>(schema: S, source?: Source): z.output<S> {
  const names = Object.keys(schema.shape);
  const given: Record<string, string> = {};
  const problems: string[] = source ? [] : [...heldSecrets().problems];
  const settings = source ?? { ...process.env, ...heldSecrets().values };
  for (const name of names) {
    const value = settings[name]?.trim();
    if (value === "") problems.push(`${name} is set but empty`);
    else if (value !== undefined) given[name] = value;
  }
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const name = String(issue.path[0] ?? "");
      if (!problems.some((line) => line.startsWith(`${name} `))) problems.push(`${name} ${issue.message}`);
    }
  }
  if (problems.length > 0 || !parsed.success) throw new EnvironmentError(problems);
  return parsed.data;
}

/** Returns what `load` returns. On an EnvironmentError, prints it and ends the process with code 1. */
export function orExit<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
