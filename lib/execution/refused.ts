import type { ErrorClass, Execution } from "@/lib/execution";

export const EMPTY_OUTPUT = {
  stdoutTail: "",
  stderrTail: "",
  stdoutBytes: 0,
  stderrBytes: 0,
  droppedBytes: 0,
};

/** An attempt that ended before anything was started, and would end so again. */
export function refused(errorType: ErrorClass, message: string): Execution {
  return { outcome: { kind: "failed", errorType, message, retryable: false }, output: EMPTY_OUTPUT };
}
