/** Messages between a worker and a process of its quarantine. All of them can be cloned. */
import type { Execution, StopReason } from "@/lib/execution";
import type { ClaimedJob } from "@/lib/queue/worker";

export type ToQuarantine =
  /** Run this attempt. `isNoted` = a note of the worker says that it has begun, not its own row. */
  | { readonly type: "run"; readonly job: ClaimedJob; readonly isNoted: boolean }
  | { readonly type: "stop"; readonly reason: StopReason };

export type FromQuarantine =
  | { readonly type: "ready" }
  /** A command of the handler has started, in the process group of this id. */
  | { readonly type: "spawned"; readonly pid: number }
  | { readonly type: "ended"; readonly execution: Execution };

/** EX_TEMPFAIL: the exit code of a worker, or of its quarantine, that is over its memory limit. */
export const OVER_MEMORY_LIMIT = 75;
