import type { TenantTransaction } from "@/lib/db";
import type { Published } from "@/lib/queue/types";
import type { CommandRegistry } from "../registry/registry";
import type { StartThread } from "../thread/host";
import type { HandlerEvent, RunContext, StepStore } from "../types";

export interface HandlerRunContext extends RunContext {
  /** For the commands that the handler runs. */
  readonly registry: CommandRegistry;
  /** Commits only while the attempt holds its lease; otherwise rejects with `LeaseLostError`. */
  transaction<T>(fn: (tx: TenantTransaction) => Promise<T>): Promise<T>;
  /** Also under the fence, in the given transaction or in its own. */
  publishEvent(event: HandlerEvent, tx?: TenantTransaction): Promise<Published>;
  readonly steps: StepStore;
  /** For handlers that run in a thread; without it they run in the main thread. */
  readonly startThread?: StartThread;
}
