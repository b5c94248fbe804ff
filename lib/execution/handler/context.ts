import { isAbsolute } from "node:path";
import type { TenantTransaction } from "@/lib/db";
import type { HandlerContext, LogContext } from "../define-job";
import { AttemptStoppedError, SnoozedError } from "../errors";
import { cleanMessage, cleanResult } from "../output/clean-result";
import { shortMessage } from "../output/frames";
import type { SecretForms } from "../output/secret-forms";
import type { LogLevel, RunContext } from "../types";
import type { HandlerChildren } from "./children";
import type { HandlerCommands } from "./commands";
import type { HandlerSteps } from "./steps";

const SNOOZE_SECONDS = { least: 1, most: 604_800 } as const;

export interface HandlerRun {
  readonly ctx: RunContext;
  readonly payload: unknown;
  readonly secrets: SecretForms;
  /** Aborted when the attempt has to stop. */
  readonly signal: () => AbortSignal;
  readonly commands: HandlerCommands;
  readonly steps: HandlerSteps;
  readonly children: HandlerChildren;
  readonly transaction: <T>(fn: (tx: TenantTransaction) => Promise<T>) => Promise<T>;
  /** True once nobody listens to the handler any more. */
  isOver(): boolean;
}

/** Builds what the handler sees. A handler that was left behind cannot act on the job through it. */
export function handlerContext(run: HandlerRun): HandlerContext<unknown> {
  const { ctx, secrets } = run;
  const check = () => {
    if (run.isOver()) throw new AttemptStoppedError("it is over");
  };
  return {
    payload: run.payload,
    tenantId: ctx.tenantId,
    jobId: ctx.jobId,
    attempt: ctx.attemptNo,
    idempotencyKey: ctx.idempotencyKey,
    get signal() {
      return run.signal();
    },
    progress(percent, message) {
      check();
      const whole = Number.isFinite(percent) ? Math.max(0, Math.min(100, Math.round(percent))) : 0;
      ctx.onProgress(whole, message === undefined ? null : shortMessage(cleanMessage(message, secrets)));
    },
    log(first: string, message?: string, context?: LogContext) {
      check();
      const level = message === undefined ? "info" : (first as LogLevel);
      const cleaned = context === undefined ? undefined : (cleanResult(context, secrets) as LogContext);
      ctx.onLog(level, cleanMessage(message ?? first, secrets), cleaned);
    },
    command: commandOf(run, check),
    async transaction(fn) {
      check();
      const signal = run.signal();
      if (signal.aborted) throw new AttemptStoppedError(String(signal.reason));
      return run.transaction(fn);
    },
    async step(name, fn) {
      check();
      return run.steps.run(name, fn, run.signal());
    },
    enqueue(job) {
      check();
      run.children.add(job);
    },
    snooze(seconds, reason) {
      check();
      throw new SnoozedError(snoozeSeconds(seconds), reason);
    },
    async providerPath(providerId, relative) {
      check();
      const path = await ctx.resolveProviderPath(providerId, relative);
      if (!isAbsolute(path)) throw new TypeError("resolveProviderPath must answer an absolute path");
      return path;
    },
  };
}

function snoozeSeconds(seconds: number): number {
  if (Number.isFinite(seconds) && seconds >= SNOOZE_SECONDS.least && seconds <= SNOOZE_SECONDS.most) return seconds;
  throw new RangeError(`snooze takes ${SNOOZE_SECONDS.least} to ${SNOOZE_SECONDS.most} seconds`);
}

function commandOf(run: HandlerRun, check: () => void): HandlerContext<unknown>["command"] {
  const command = (key: string, args: Readonly<Record<string, unknown>>, options?: { readonly rows: true }) => {
    check();
    const started = run.commands.run(key, args, options?.rows === true);
    return options?.rows ? started : started.result;
  };
  return command as HandlerContext<unknown>["command"];
}
