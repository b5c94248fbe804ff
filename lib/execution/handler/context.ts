import { type AttemptArtifacts, isContent, writeArtifact } from "../artifacts/attempt-artifacts";
import type { ArtifactContent, ArtifactOptions } from "../artifacts/types";
import type { HandlerContext, LogContext } from "../define-job";
import { AttemptStoppedError, SnoozedError } from "../errors";
import { cleanContext, cleanMessage } from "../output/clean-result";
import { shortMessage } from "../output/frames";
import type { SecretForms } from "../output/secret-forms";
import { readableFile } from "../paths";
import type { LogLevel, RunContext } from "../types";
import type { HandlerChildren } from "./children";
import type { HandlerCommands } from "./commands";
import type { HandlerRunContext } from "./run-context";
import type { HandlerSteps } from "./steps";

const SNOOZE_SECONDS = { least: 1, most: 604_800 } as const;

/** Dependencies of a handler's context. */
export interface ContextSource {
  readonly ctx: Pick<HandlerRunContext, keyof RunContext | "registry" | "transaction" | "publishEvent">;
  readonly secrets: SecretForms;
  /** Aborted when the attempt has to stop. */
  readonly signal: AbortSignal;
  readonly commands: HandlerCommands;
  readonly steps: HandlerSteps;
  readonly children: HandlerChildren;
  readonly artifacts: AttemptArtifacts;
  showProgress(percent: number, message: string | null): void;
  /** @throws AttemptStoppedError once the attempt has ended */
  check(): void;
}

/**
 * The handler's context. An abandoned handler cannot act on the job through it. Each method is created on access,
 * because most handlers use few; it may be taken out of the context.
 */
export class AttemptHandlerContext implements HandlerContext<unknown> {
  readonly tenantId: string;
  readonly jobId: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly chainDepth: number;
  readonly #run: ContextSource;
  #saidOfContexts: Set<string> | undefined;

  constructor(
    run: ContextSource,
    readonly payload: unknown,
  ) {
    this.#run = run;
    this.tenantId = run.ctx.tenantId;
    this.jobId = run.ctx.jobId;
    this.attempt = run.ctx.attemptNo;
    this.idempotencyKey = run.ctx.idempotencyKey;
    this.chainDepth = run.ctx.chainDepth ?? 0;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get progress(): HandlerContext<unknown>["progress"] {
    const run = this.#run;
    return (percent, message) => {
      run.check();
      const whole = Number.isFinite(percent) ? Math.max(0, Math.min(100, Math.round(percent))) : 0;
      run.showProgress(whole, message === undefined ? null : shortMessage(cleanMessage(message, run.secrets)));
    };
  }

  get log(): HandlerContext<unknown>["log"] {
    const run = this.#run;
    return (first: string, message?: string, context?: LogContext) => {
      run.check();
      const level = message === undefined ? "info" : (first as LogLevel);
      const text = cleanMessage(message ?? first, run.secrets);
      if (context === undefined) return run.ctx.onLog(level, text);
      this.#saidOfContexts ??= new Set();
      const { cleaned, changes } = cleanContext(context, run.secrets, this.#saidOfContexts);
      run.ctx.onLog(level, text, cleaned);
      for (const change of changes) run.ctx.onLog("warn", change);
    };
  }

  get command(): HandlerContext<unknown>["command"] {
    return commandOf(this.#run);
  }

  get artifact(): HandlerContext<unknown>["artifact"] {
    return artifactOf(this.#run);
  }

  get transaction(): HandlerContext<unknown>["transaction"] {
    const run = this.#run;
    return async (fn) => {
      run.check();
      if (run.signal.aborted) throw new AttemptStoppedError(String(run.signal.reason));
      return run.ctx.transaction(fn);
    };
  }

  get step(): HandlerContext<unknown>["step"] {
    const run = this.#run;
    return async (name, fn) => {
      run.check();
      return run.steps.run(name, fn, run.signal);
    };
  }

  get enqueue(): HandlerContext<unknown>["enqueue"] {
    const run = this.#run;
    return (job) => {
      run.check();
      run.children.add(job);
    };
  }

  get publishEvent(): HandlerContext<unknown>["publishEvent"] {
    const run = this.#run;
    return async (event, tx) => {
      run.check();
      if (run.signal.aborted) throw new AttemptStoppedError(String(run.signal.reason));
      return run.ctx.publishEvent(event, tx);
    };
  }

  get snooze(): HandlerContext<unknown>["snooze"] {
    const run = this.#run;
    return (seconds, reason) => {
      run.check();
      throw new SnoozedError(snoozeSeconds(seconds), reason);
    };
  }

  get openFile(): HandlerContext<unknown>["openFile"] {
    const run = this.#run;
    return async (providerId, path) => {
      run.check();
      const opened = await run.ctx.openProviderPath(providerId, path);
      return readableFile(opened, run.ctx.registry.launch.runAs);
    };
  }
}

function snoozeSeconds(seconds: number): number {
  if (Number.isFinite(seconds) && seconds >= SNOOZE_SECONDS.least && seconds <= SNOOZE_SECONDS.most) return seconds;
  throw new RangeError(`snooze takes ${SNOOZE_SECONDS.least} to ${SNOOZE_SECONDS.most} seconds`);
}

function artifactOf(run: ContextSource): HandlerContext<unknown>["artifact"] {
  const check = () => {
    run.check();
    if (run.signal.aborted) throw new AttemptStoppedError(String(run.signal.reason));
  };
  const artifact = (name: string, second?: ArtifactContent | ArtifactOptions, third: ArtifactOptions = {}) => {
    check();
    if (!isContent(second)) return run.artifacts.open(name, second ?? {}, check);
    return writeArtifact(run.artifacts.open(name, third, check), second);
  };
  return artifact as HandlerContext<unknown>["artifact"];
}

function commandOf(run: ContextSource): HandlerContext<unknown>["command"] {
  const command = (key: string, args: Readonly<Record<string, unknown>>, options?: { readonly rows: true }) => {
    run.check();
    const started = run.commands.run(key, args, options?.rows === true);
    return options?.rows ? started : started.result;
  };
  return command as HandlerContext<unknown>["command"];
}
