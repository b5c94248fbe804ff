import { faultStack, outcomeOfError } from "./classify-error";
import { failure } from "./command/outcome";
import type { JobHandler } from "./define-job";
import { invalidLimits } from "./execute-command";
import { HandlerRun } from "./handler/run";
import type { HandlerRunContext } from "./handler/run-context";
import { NO_OUTPUT } from "./output/attempt-capture";
import { cleanMessage, cleanResult, reportTo } from "./output/clean-result";
import { HandlerThread, type StartThread } from "./thread/host";
import type { Execution, Outcome, RunContext } from "./types";

/**
 * Runs a handler as a job's attempt. A stopped handler has the grace period to settle. After that the attempt has ended
 * even if the handler still runs, and its context can no longer be used. Never rejects.
 */
export async function executeHandler(handler: JobHandler, ctx: HandlerRunContext): Promise<Execution> {
  const refusal = invalidLimits(ctx);
  const payload = handler.schema.safeParse(ctx.payload);
  if (refusal || !payload.success) {
    const message = refusal ?? `the payload is not valid: ${pointersOf(payload.error?.issues ?? [])}`;
    return { outcome: failure(refusal ? "invalid_input" : "validation", message), output: NO_OUTPUT };
  }
  const run = new HandlerRun(ctx, payload.data);
  const thread = handler.thread && ctx.startThread ? threadOf(handler, { ctx, run }, ctx.startThread) : null;
  const handle = () => (thread ? thread.run() : handler.run(run.context));
  const outcome = await outcomeOf(handler, run, handle);
  run.end();
  await thread?.end();
  return run.execution(outcome);
}

/** Resolves when the handler has ended, or when its grace period is over. */
function outcomeOf(handler: JobHandler, run: HandlerRun, handle: () => Promise<unknown>): Promise<Outcome> {
  return new Promise((resolve) => {
    run.watch(resolve);
    void settle(handler, run, handle).then(resolve);
  });
}

function threadOf(
  { key }: JobHandler,
  { ctx, run }: { readonly ctx: RunContext; readonly run: HandlerRun },
  start: StartThread,
): HandlerThread {
  const { payload, tenantId, jobId, attemptNo: attempt, idempotencyKey, chainDepth = 0 } = ctx;
  return new HandlerThread({
    start,
    context: run.context,
    capture: run.capture,
    data: { key, payload, tenantId, jobId, attempt, idempotencyKey, chainDepth },
  });
}

async function settle({ isShipped }: JobHandler, run: HandlerRun, handle: () => Promise<unknown>): Promise<Outcome> {
  if (run.isStopped) return run.stoppedOutcome("it had not started");
  try {
    const result = await handle();
    const artifacts = run.isStopped ? undefined : run.settleArtifacts();
    if (artifacts) await artifacts;
    // A handler that notices the signal may return early; its value is then not the job's result.
    return run.isStopped
      ? run.stoppedOutcome("the handler stopped")
      : { kind: "succeeded", result: cleanResult(result, run.secrets, reportTo(run.ctx)) };
  } catch (error) {
    if (run.isStopped) return run.stoppedOutcome("the handler stopped");
    const fault = isShipped ? faultStack(error) : null;
    if (fault !== null) run.ctx.onFault?.(cleanMessage(fault, run.secrets));
    return outcomeOfError(error, run.secrets, { isShipped });
  }
}

function pointersOf(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  return issues
    .slice(0, 5)
    .map((issue) => `/${issue.path.map(String).join("/")}: ${issue.message}`)
    .join("; ");
}
