/** Messages between a worker and its quarantine processes. All of them can be cloned. */
import type { Execution, StopReason } from "@/lib/execution";
import type { ClaimedJob } from "@/lib/queue/worker";

export type ToQuarantine =
  /** Run this attempt. `isNoted` means that the worker's mark, not the attempt's own row, records that it has begun. */
  | { readonly type: "run"; readonly job: ClaimedJob; readonly isNoted: boolean }
  | { readonly type: "stop"; readonly reason: StopReason };

export type FromQuarantine =
  | { readonly type: "ready" }
  /** A command of the handler has started, in the process group with this id. */
  | { readonly type: "spawned"; readonly pid: number }
  | { readonly type: "ended"; readonly execution: Execution };

/** EX_TEMPFAIL: the exit code of a worker or quarantine process that is over its memory limit. */
export const OVER_MEMORY_LIMIT = 75;
