/**
 * Runs one allow-listed command. Start with `runCommand`, then `runProcess`.
 *
 * A command runs without a shell, in its own folder, with an environment built from nothing and validated arguments. It
 * talks to the worker on fd 3 (frame-sink.ts). When `runProcess` resolves, no process of the command is left.
 */

import { isUnavailable } from "@/lib/db";
import type { AttemptArtifacts } from "../artifacts/attempt-artifacts";
import { JobError } from "../errors";
import type { AttemptCapture } from "../output/attempt-capture";
import { cleanMessage, reportTo } from "../output/clean-result";
import type { SecretForms } from "../output/secret-forms";
import type { Isolation } from "../process/supervisor";
import { tenantUser } from "../process/tenant-user";
import { CannotPrepareError } from "../registry/preparation";
import type { Command, CommandRegistry } from "../registry/registry";
import { checkReadable, checkRunnable } from "../registry/runnable";
import { trustAgain, UntrustedFileError } from "../registry/trust";
import type { Outcome, RunContext } from "../types";
import { buildArguments, checkSize } from "./arguments";
import { commandEnvironment } from "./environment";
import { InheritedFiles } from "./inherited-files";
import { keepFiles } from "./keep-files";
import { failure, outcomeOf, stoppedOutcome } from "./outcome";
import type { RowChannel } from "./row-channel";
import { type ProcessResult, runProcess } from "./run-process";
import { stopReason } from "./stopper";

export interface CommandRequest {
  readonly key: string;
  readonly args: unknown;
  readonly ctx: RunContext;
  readonly capture: AttemptCapture;
  readonly secrets: SecretForms;
  readonly rows: RowChannel | null;
  /** The attempt's artifacts. */
  readonly artifacts: () => AttemptArtifacts;
}

export interface CommandEnd {
  readonly outcome: Outcome;
  readonly process: ProcessResult | null;
}

const NOT_STARTED = "it had not started";

/** Runs an allow-listed command in its own folder. Never rejects; every failure is in the outcome. */
export async function runCommand(registry: CommandRegistry, request: CommandRequest): Promise<CommandEnd> {
  const command = registry.commands.get(request.key);
  if (!command) {
    const known = "is not in this worker's command registry";
    return {
      outcome: failure("command_not_allowed", `command ${JSON.stringify(request.key.slice(0, 128))} ${known}`),
      process: null,
    };
  }
  if (registry.isRefusing) {
    const why = "this worker starts no commands, because they are not isolated; see its log";
    return { outcome: failure("command_not_allowed", why), process: null };
  }
  let folder: string | null = null;
  let inherited: InheritedFiles | null = null;
  const user = tenantUser(registry.launch, request.ctx.tenantId);
  try {
    folder = await registry.preparation.makeFolder(registry.workRoot, user);
    const isolation = { ...registry.launch, hidden: await registry.hidden(), runAs: user };
    inherited = new InheritedFiles(isolation.hidden);
    const end = await runInFolder({ registry, command, request, folder, isolation, inherited });
    if (!end.process) return end;
    const outcome = await keepFiles(end.outcome, { ...request, folder, named: end.process.artifacts ?? [] });
    await request.ctx.inspectFolder?.(folder);
    return { ...end, outcome };
  } catch (error) {
    return { outcome: toFailure(error, request.secrets), process: null };
  } finally {
    await inherited?.close();
    if (folder) await registry.preparation.removeFolder(folder);
  }
}

interface Run {
  readonly registry: CommandRegistry;
  readonly command: Command;
  readonly request: CommandRequest;
  readonly folder: string;
  readonly isolation: Isolation;
  readonly inherited: InheritedFiles;
}

async function runInFolder({ registry, command, request, folder, isolation, inherited }: Run): Promise<CommandEnd> {
  const { ctx, capture, secrets, rows } = request;
  const args = asObject(request.args);
  const built = await buildArguments(command, {
    args,
    folder,
    openProviderPath: ctx.openProviderPath,
    inherit: (opened, how) => inherited.add(opened, how),
  });
  const env = commandEnvironment(ctx, folder, built.env);
  const argv = [...command.program, ...built.argv];
  checkSize(argv, env);
  await checkFiles(registry, command, env.PATH);
  // The last check before the process starts; a later stop finds a process to end.
  if (ctx.signal.aborted) return { outcome: stoppedOutcome(stopReason(ctx.signal), NOT_STARTED), process: null };
  const ended = await runProcess({
    command: argv,
    env,
    folder,
    inherited,
    stdin: command.spec.stdin === "payload" ? JSON.stringify(args) : null,
    isolation,
    limits: command.spec.limits,
    capture,
    frames: { ctx, secrets, rows },
    stop: { signal: ctx.signal, timeoutSeconds: ctx.timeoutSeconds, graceSeconds: ctx.killGraceSeconds },
    onSpawn: (pid) => ctx.onSpawn?.(pid),
  });
  const said = capture.stderr.errorMessage();
  const wasKilled = registry.launch.namespace !== null && ended.exitCode === 1 && said === KILLED_IN_NAMESPACE;
  const { exitCode: _code, ...rest } = ended;
  const process: ProcessResult = wasKilled ? { ...rest, signal: "SIGKILL" } : ended;
  const report = reportTo(ctx);
  return {
    outcome: outcomeOf({ process, spec: command.spec, secrets, errorMessage: wasKilled ? null : said, report }),
    process,
  };
}

/** Checks the files once more before they run: each is trusted, and the kernel runs the program without a shell. */
async function checkFiles({ launch: { runAs } }: CommandRegistry, command: Command, path?: string): Promise<void> {
  for (const file of command.files) await trustAgain(file);
  const [program = ""] = command.program;
  await checkRunnable(program, { runAs, path });
  for (const { named } of command.files) if (named !== program) await checkReadable(named, runAs);
}

// Message of unshare in util-linux before 2.39, with exit code 1, when the process that it waited for died of SIGKILL:
// it tries to unblock that signal in order to die of it, which is not possible.
const KILLED_IN_NAMESPACE = "unshare: sigprocmask unblock failed: Invalid argument";

function asObject(args: unknown): Readonly<Record<string, unknown>> {
  if (args === undefined || args === null) return {};
  if (typeof args !== "object" || Array.isArray(args))
    throw new JobError("arguments must be an object", { errorType: "invalid_input" });
  return args as Readonly<Record<string, unknown>>;
}

function toFailure(error: unknown, secrets: SecretForms): Outcome {
  // A fault of the machine, or an outage: nothing began, so the job is released with all its attempts.
  if (error instanceof CannotPrepareError || isUnavailable(error)) return { kind: "released" };
  if (error instanceof UntrustedFileError) return failure("command_not_allowed", error.message);
  if (error instanceof JobError) return failure(error.errorType, cleanMessage(error.message, secrets), error.retryable);
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return failure("temporary_resource", `the command could not be prepared (${code ?? "unknown error"})`);
}
