/** Messages between a worker and its quarantine processes. All of them can be cloned. */
import type { CommandRegistry, Execution, StopReason } from "@/lib/execution";
import type { ClaimedJob } from "@/lib/queue/worker";

/** How a worker isolates commands. */
export type Launch = CommandRegistry["launch"];

export type ToQuarantine =
  /** The first message. Commands are isolated as in the worker: a test at a bad moment could find less. */
  | { readonly type: "start"; readonly launch: Launch }
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
