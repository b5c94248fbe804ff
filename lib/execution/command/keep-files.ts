import { isUnavailable } from "@/lib/db";
import type { AttemptArtifacts } from "../artifacts/attempt-artifacts";
import { collectFiles, hasFiles, type NamedFile, type Unkept } from "../artifacts/collect";
import { AttemptLostError, JobError } from "../errors";
import { cleanMessage } from "../output/clean-result";
import type { SecretForms } from "../output/secret-forms";
import type { Outcome, RunContext } from "../types";
import { failure } from "./outcome";

const MOST_NAMED = 5;
/** Time for keeping files after the attempt's time limit, because its lease is not renewed forever. */
const LATE_MS = 30_000;

interface Ended {
  readonly folder: string;
  readonly named: readonly NamedFile[];
  readonly artifacts: () => AttemptArtifacts;
  readonly ctx: RunContext;
  readonly secrets: SecretForms;
}

/**
 * Keeps the files that a command left, whatever its exit code, even at its time limit. The outcome stays the same,
 * except that a success becomes a failure if a file could not be kept. Canceled attempts, and those that run again,
 * keep nothing.
 */
export async function keepFiles(outcome: Outcome, ended: Ended): Promise<Outcome> {
  const { folder, named, ctx, secrets } = ended;
  if (outcome.kind === "lease_lost" || outcome.kind === "released") return outcome;
  if (!(await hasFiles(folder, named))) return outcome;
  if (outcome.kind === "canceled") {
    ctx.onLog("warn", "The attempt was canceled: its artifacts are not kept.");
    return outcome;
  }
  const deadline = outcome.kind === "timeout" ? performance.now() + LATE_MS : Number.POSITIVE_INFINITY;
  const check = () => {
    if (ctx.signal.reason === "lease-lost") throw new AttemptLostError();
    if (performance.now() > deadline) throw new JobError("there was no time left to keep it", { errorType: "timeout" });
  };
  try {
    const unkept = await collectFiles({ folder, named, ctx, artifacts: ended.artifacts(), check });
    return afterUnkept(outcome, unkept, { ctx, secrets });
  } catch (error) {
    if (error instanceof AttemptLostError) return { kind: "lease_lost" };
    return afterUnkept(outcome, [{ name: "artifacts", error }], { ctx, secrets });
  }
}

function afterUnkept(
  outcome: Outcome,
  unkept: readonly Unkept[],
  { ctx, secrets }: Pick<Ended, "ctx" | "secrets">,
): Outcome {
  if (unkept.some(({ error }) => error instanceof AttemptLostError)) return { kind: "lease_lost" };
  if (unkept.length === 0) return outcome;
  const named = unkept.slice(0, MOST_NAMED).map(({ name, error }) => `${JSON.stringify(name)} (${messageOf(error)})`);
  const more = unkept.length > MOST_NAMED ? ` and ${unkept.length - MOST_NAMED} more` : "";
  const message = cleanMessage(`artifacts are not kept: ${named.join(", ")}${more}`, secrets);
  if (outcome.kind === "succeeded" || outcome.kind === "snoozed") {
    // Retryable, because another attempt may reach the database and would make the same files.
    return unkept.every(({ error }) => isUnavailable(error))
      ? failure("database", message)
      : failure("internal", message, false);
  }
  ctx.onLog("warn", message);
  return outcome;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
