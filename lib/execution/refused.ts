import type { ErrorClass, Execution } from "@/lib/execution";

export const EMPTY_OUTPUT = {
  stdoutTail: "",
  stderrTail: "",
  stdoutBytes: 0,
  stderrBytes: 0,
  droppedBytes: 0,
};

/** Returns the execution of an attempt that was refused before anything started, and would be refused again. */
export function refused(errorType: ErrorClass, message: string): Execution {
  return { outcome: { kind: "failed", errorType, message, retryable: false }, output: EMPTY_OUTPUT };
}
