import { cleanMessage, type ReportChange } from "../output/clean-result";
import type { SecretForms } from "../output/secret-forms";
import type { CommandSpec } from "../registry/schema";
import type { ErrorClass, Failure, Outcome, StopReason } from "../types";
import type { OverMemory, ProcessResult } from "./run-process";

export interface EndedProcess {
  readonly process: ProcessResult;
  readonly spec: CommandSpec;
  readonly secrets: SecretForms;
  /** The error message found in standard error. */
  readonly errorMessage: string | null;
  /** Reports how the stored result differs from the one that the command sent. */
  readonly report: ReportChange;
}

/** Returns the outcome of an attempt whose command has ended. */
export function outcomeOf(ended: EndedProcess): Outcome {
  const { process, secrets } = ended;
  if (process.stoppedBy) return stoppedOutcome(process.stoppedBy, howItEnded(process));
  if (process.overMemory) return overMemory(process.overMemory);
  if (process.spawnError) return spawnFailure(process.spawnError);
  if (process.exitCode === 0 && process.lost) return failure("internal", process.lost);
  if (process.exitCode === 0 && process.snooze) return snoozed(process.snooze, secrets);
  return process.exitCode === 0 ? succeeded(ended) : failedExit(ended);
}

function succeeded({ process: { result }, report }: EndedProcess): Outcome {
  for (const change of result?.changes ?? []) report(change);
  return { kind: "succeeded", result: result?.value ?? null };
}

function snoozed({ seconds, reason }: NonNullable<ProcessResult["snooze"]>, secrets: SecretForms): Outcome {
  return { kind: "snoozed", seconds, ...(reason === null ? {} : { reason: cleanMessage(reason, secrets) }) };
}

/** Returns the outcome of an attempt that was stopped for this reason. */
export function stoppedOutcome(reason: StopReason, detail: string): Outcome {
  if (reason === "timeout") return { kind: "timeout", message: `stopped at its time limit; ${detail}` };
  if (reason === "cancel") return { kind: "canceled" };
  return reason === "lease-lost" ? { kind: "lease_lost" } : { kind: "released" };
}

export function failure(errorType: ErrorClass, message: string, retryable?: boolean): Failure {
  return { kind: "failed", errorType, message, ...(retryable === undefined ? {} : { retryable }) };
}

function howItEnded({ exitCode, signal }: ProcessResult): string {
  return signal ? `ended by ${signal}` : `it exited with code ${exitCode ?? "unknown"}`;
}

function overMemory({ bytes, limitMb }: OverMemory): Failure {
  const held = `its processes together held ${Math.ceil(bytes / 1024 / 1024)} MiB of memory`;
  return failure(
    "temporary_resource",
    `killed: ${held}, more than the ${limitMb} MiB of its command (total_memory_mb)`,
  );
}

function spawnFailure(code: string): Failure {
  if (code === "E2BIG") return failure("invalid_input", "the arguments are too large for this machine");
  if (code.startsWith("ERR_INVALID_ARG")) return failure("invalid_input", "the arguments cannot be given to a program");
  return failure("temporary_resource", `no process could be started (${code})`);
}

function failedExit({ process, spec, secrets, errorMessage }: EndedProcess): Failure {
  const { errorType, retryable, retryAfterSeconds, message } = classify(process, spec, errorMessage);
  const text = [message, errorMessage].filter(Boolean).join(": ");
  const failed = failure(errorType, cleanMessage(text, secrets), retryable);
  return retryAfterSeconds === undefined ? failed : { ...failed, retryAfterSeconds };
}

type ExitRule = Exclude<CommandSpec["exit_codes"][string], string>;

/** Messages of runtimes and shells when the system gives them no further process or thread. */
const NO_PROCESS =
  /\bEAGAIN\b|resource temporarily unavailable|cannot fork|can't start new thread|unable to create (?:new )?native thread|failed to (?:create new OS|spawn) thread/i;

function classify({ exitCode, signal }: ProcessResult, spec: CommandSpec, errorMessage: string | null) {
  const noProcess = errorMessage !== null && NO_PROCESS.test(errorMessage) ? "temporary_resource" : null;
  if (signal)
    return {
      errorType: noProcess ?? signalClass(signal),
      message: `killed by ${signal}${signalHint(signal)}`,
      retryable: undefined,
      retryAfterSeconds: undefined,
    };
  const mapped = spec.exit_codes[String(exitCode)];
  const rule: ExitRule | undefined = typeof mapped === "string" ? { error: mapped } : mapped;
  return {
    errorType: rule?.error ?? noProcess ?? "unknown",
    message: rule?.message ?? `exit code ${exitCode}`,
    retryable: rule?.retryable,
    retryAfterSeconds: rule?.retry_after_seconds,
  };
}

// The worker did not send the signal: most often the kernel ran out of memory, or a limit was reached.
function signalClass(signal: string): ErrorClass {
  return ["SIGKILL", "SIGXCPU", "SIGXFSZ", "SIGTERM"].includes(signal) ? "temporary_resource" : "internal";
}

function signalHint(signal: string): string {
  if (signal === "SIGKILL") return " (out of memory, or a limit of the machine)";
  if (signal === "SIGXCPU") return " (limit of processor time)";
  return signal === "SIGXFSZ" ? " (limit of file size)" : "";
}
