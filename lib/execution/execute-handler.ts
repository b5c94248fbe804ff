import type { TenantTransaction } from "@/lib/db";
import { outcomeOfError } from "./classify-error";
import { failure, stoppedOutcome } from "./command/outcome";
import { stopReason } from "./command/stopper";
import type { HandlerContext, JobHandler } from "./define-job";
import { invalidLimits } from "./execute-command";
import { HandlerChildren } from "./handler/children";
import { HandlerCommands } from "./handler/commands";
import { handlerContext } from "./handler/context";
import { HandlerSteps } from "./handler/steps";
import { AttemptCapture } from "./output/attempt-capture";
import { cleanResult } from "./output/clean-result";
import { type SecretForms, secretForms } from "./output/secret-forms";
import type { CommandRegistry } from "./registry/registry";
import { HandlerThread, type StartThread } from "./thread/host";
import { startTimer } from "./timer";
import type { Execution, Outcome, RunContext, StepStore, StopReason } from "./types";

export interface HandlerRunContext extends RunContext {
  /** For the commands that the handler runs. */
  readonly registry: CommandRegistry;
  /** Commits only while the attempt holds its lease; rejects with `LeaseLostError` when it does not. */
  transaction<T>(fn: (tx: TenantTransaction) => Promise<T>): Promise<T>;
  readonly steps: StepStore;
  /** For handlers that run in a thread; without it they run here. */
  readonly startThread?: StartThread;
}

/**
 * Runs a handler as a job's attempt. Told to stop, it has the grace period to settle; after that the attempt is over
 * although the handler may still run: its context then serves no more. Never rejects.
 */
export async function executeHandler(handler: JobHandler, ctx: HandlerRunContext): Promise<Execution> {
  const secrets = secretForms(ctx.secrets);
  const capture = new AttemptCapture(secrets, ctx);
  const refusal = invalidLimits(ctx) ?? null;
  const payload = handler.schema.safeParse(ctx.payload);
  if (refusal || !payload.success) {
    const message = refusal ?? `the payload is not valid: ${pointersOf(payload.error?.issues ?? [])}`;
    return { outcome: failure(refusal ? "invalid_input" : "validation", message), output: capture.finish({}) };
  }
  const stop = new StopWatch(ctx);
  const commands = new HandlerCommands({
    registry: ctx.registry,
    ctx,
    signal: () => stop.signal,
    capture,
    secrets,
  });
  const children = new HandlerChildren();
  let isOver = false;
  const context = handlerContext({
    ctx,
    payload: payload.data,
    secrets,
    signal: () => stop.signal,
    commands,
    steps: new HandlerSteps(ctx.steps),
    children,
    transaction: (fn) => ctx.transaction(fn),
    isOver: () => isOver,
  });
  const thread =
    handler.thread && ctx.startThread ? threadOf(handler, { ctx, context, capture }, ctx.startThread) : null;
  const settled = settle(async () => (thread ? thread.run() : handler.run(context)), stop, secrets);
  const outcome = await Promise.race([settled, stop.graceIsOver]);
  isOver = true;
  stop.dispose();
  await thread?.end();
  await commands.close(outcome.kind === "lease_lost" ? "lease-lost" : "shutdown");
  const output = capture.finish(commands.last ?? {});
  const asked = outcome.kind === "succeeded" ? children.all : [];
  return { outcome, output, ...(asked.length === 0 ? {} : { children: asked }) };
}

function threadOf(
  { key }: JobHandler,
  { ctx, context, capture }: { ctx: RunContext; context: HandlerContext<unknown>; capture: AttemptCapture },
  start: StartThread,
): HandlerThread {
  const { payload, tenantId, jobId, attemptNo: attempt, idempotencyKey } = ctx;
  return new HandlerThread({
    start,
    context,
    capture,
    data: { key, payload, tenantId, jobId, attempt, idempotencyKey },
  });
}

async function settle(run: () => Promise<unknown>, stop: StopWatch, secrets: SecretForms): Promise<Outcome> {
  if (stop.isStopped) return stop.outcome("it had not started");
  try {
    const result = await run();
    // A handler that notices the signal may return early; what it returns then is not the job's result.
    return stop.isStopped
      ? stop.outcome("the handler stopped")
      : { kind: "succeeded", result: cleanResult(result, secrets) };
  } catch (error) {
    return stop.isStopped ? stop.outcome("the handler stopped") : outcomeOfError(error, secrets);
  }
}

/** Watches the clock and the worker's signal for one handler. */
class StopWatch {
  #abort: AbortController | undefined;
  #reason: StopReason | undefined;
  readonly #timers: { cancel(): void }[] = [];
  readonly #graceSeconds: number;
  readonly #outer: AbortSignal;
  readonly #listener: () => void;
  #over: (outcome: Outcome) => void = () => undefined;
  /** Resolves when a handler that was told to stop has used up its grace period. */
  readonly graceIsOver: Promise<Outcome>;

  constructor({ signal, timeoutSeconds, killGraceSeconds }: RunContext) {
    this.#graceSeconds = killGraceSeconds;
    this.#outer = signal;
    this.graceIsOver = new Promise((resolve) => {
      this.#over = resolve;
    });
    this.#listener = () => this.#stop(stopReason(signal));
    signal.addEventListener("abort", this.#listener, { once: true });
    if (timeoutSeconds !== undefined) this.#timers.push(startTimer(timeoutSeconds, () => this.#stop("timeout")));
    if (signal.aborted) this.#listener();
  }

  get isStopped(): boolean {
    return this.#reason !== undefined;
  }

  /** Made when somebody asks for it, which few handlers do. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  outcome(detail: string): Outcome {
    return stoppedOutcome(this.#reason ?? "shutdown", detail);
  }

  dispose(): void {
    this.#outer.removeEventListener("abort", this.#listener);
    for (const timer of this.#timers) timer.cancel();
  }

  #stop(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#abort?.abort(reason);
    const grace = reason === "lease-lost" ? 0 : this.#graceSeconds;
    const giveUp = () => this.#over(this.outcome("the handler did not stop in its grace period and was left behind"));
    this.#timers.push(startTimer(grace, giveUp));
  }
}

function pointersOf(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  return issues
    .slice(0, 5)
    .map((issue) => `/${issue.path.map(String).join("/")}: ${issue.message}`)
    .join("; ");
}
