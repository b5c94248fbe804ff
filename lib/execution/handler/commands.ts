import type { AttemptArtifacts } from "../artifacts/attempt-artifacts";
import { RowChannel } from "../command/row-channel";
import { type CommandEnd, runCommand } from "../command/run-command";
import type { CommandRun } from "../define-job";
import { AttemptLostError, AttemptStoppedError, CommandFailedError, SnoozedError } from "../errors";
import type { AttemptCapture } from "../output/attempt-capture";
import type { SecretForms } from "../output/secret-forms";
import type { CommandRegistry } from "../registry/registry";
import type { RunContext } from "../types";

export interface HandlerCommandsOptions {
  readonly registry: CommandRegistry;
  readonly ctx: RunContext;
  /** Returns the attempt's signal. Called when the first command starts. */
  readonly signal: () => AbortSignal;
  readonly capture: AttemptCapture;
  readonly secrets: SecretForms;
  readonly artifacts: () => AttemptArtifacts;
  /** Receives the progress of a command, which is not yet the job's. */
  readonly onProgress: RunContext["onProgress"];
}

/** The commands that one handler runs. None of them outlives the attempt. */
export class HandlerCommands {
  readonly #options: HandlerCommandsOptions;
  readonly #running = new Set<Promise<unknown>>();
  /** Created with the first command, because most handlers run none. */
  #end: AbortController | undefined;
  #signal: AbortSignal | undefined;
  /** The process of the command that ended last. */
  last: CommandEnd["process"] = null;

  constructor(options: HandlerCommandsOptions) {
    this.#options = options;
  }

  run(key: string, args: unknown, wantsRows: boolean): CommandRun {
    const rows = new RowChannel();
    this.#signal ??= this.#joinedSignal();
    const ended = runCommand(this.#options.registry, {
      ...this.#options,
      key,
      args,
      ctx: commandContext(this.#options, this.#signal),
      rows: wantsRows ? rows : null,
    });
    const result = ended.then((end) => this.#resultOf(end));
    result.then(
      () => rows.end(null),
      (error: Error) => rows.end(error),
    );
    // A handler may read only the rows; their reader then gets the error.
    result.catch(() => undefined);
    this.#running.add(ended);
    void ended.then(() => this.#running.delete(ended));
    return { rows, result };
  }

  /** Stops running commands and waits for them. */
  async close(reason: "lease-lost" | "shutdown" = "shutdown"): Promise<void> {
    if (this.#running.size === 0) return;
    this.#end?.abort(reason);
    await Promise.all(this.#running);
  }

  #joinedSignal(): AbortSignal {
    this.#end = new AbortController();
    return AbortSignal.any([this.#options.signal(), this.#end.signal]);
  }

  #resultOf(end: CommandEnd): unknown {
    if (end.process) this.last = end.process;
    const { outcome, process } = end;
    if (outcome.kind === "succeeded") return outcome.result;
    if (outcome.kind === "lease_lost") throw new AttemptLostError();
    if (outcome.kind === "snoozed") throw new SnoozedError(outcome.seconds, outcome.reason);
    if (outcome.kind !== "failed") throw new AttemptStoppedError(outcome.kind);
    const { message, errorType, retryable, retryAfterSeconds } = outcome;
    throw new CommandFailedError(message, {
      errorType,
      retryable,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      exitCode: process?.exitCode,
      signal: process?.signal,
    });
  }
}

/** The command has no time limit of its own, because the attempt's limit stops it through the signal. */
function commandContext({ ctx, onProgress }: HandlerCommandsOptions, signal: AbortSignal): RunContext {
  return {
    jobId: ctx.jobId,
    tenantId: ctx.tenantId,
    attemptNo: ctx.attemptNo,
    idempotencyKey: ctx.idempotencyKey,
    chainDepth: ctx.chainDepth ?? 0,
    payload: ctx.payload,
    signal,
    killGraceSeconds: ctx.killGraceSeconds,
    secrets: ctx.secrets,
    onOutput: (stream, text) => ctx.onOutput(stream, text),
    onProgress,
    onLog: (level, text, context) => ctx.onLog(level, text, context),
    openProviderPath: (providerId, relative) => ctx.openProviderPath(providerId, relative),
    onSpawn: (pid) => ctx.onSpawn?.(pid),
    inspectFolder: async (folder) => ctx.inspectFolder?.(folder),
  };
}
