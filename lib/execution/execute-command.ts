import { AttemptArtifacts } from "./artifacts/attempt-artifacts";
import { failure } from "./command/outcome";
import { runCommand } from "./command/run-command";
import { AttemptCapture } from "./output/attempt-capture";
import { refusedSecrets, secretForms } from "./output/secret-forms";
import type { CommandRegistry } from "./registry/registry";
import type { Execution, RunContext } from "./types";

/**
 * Runs an allow-listed command as a job's attempt. No shell takes part, the environment is built from nothing, and no
 * process of the command is left when this resolves. Never rejects.
 */
export async function executeCommand(
  registry: CommandRegistry,
  key: string,
  args: unknown,
  ctx: RunContext,
): Promise<Execution> {
  const secrets = secretForms(ctx.secrets);
  const capture = new AttemptCapture(secrets, ctx);
  const invalid = invalidLimits(ctx);
  if (invalid) return { outcome: failure("invalid_input", invalid), output: capture.finish({}) };
  const artifacts = new AttemptArtifacts(ctx, secrets);
  const request = { key, args, ctx, capture, secrets, rows: null, artifacts: () => artifacts };
  const { outcome, process } = await runCommand(registry, request);
  await artifacts.discard();
  return { outcome, output: capture.finish(process ?? {}) };
}

/** Returns the problem of an attempt's time limits or secrets, or null. */
export function invalidLimits({ timeoutSeconds, killGraceSeconds, secrets }: RunContext): string | null {
  const refused = refusedSecrets(secrets);
  if (refused !== null) return refused;
  if (timeoutSeconds !== undefined && !(Number.isFinite(timeoutSeconds) && timeoutSeconds > 0)) {
    return "the time limit must be a positive number of seconds";
  }
  return Number.isFinite(killGraceSeconds) && killGraceSeconds >= 0
    ? null
    : "the grace period must be a number of seconds";
}
