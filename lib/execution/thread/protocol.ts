/** The messages between a handler's thread and its worker. All of them can be cloned or transferred. */
import type { ArtifactOptions } from "../artifacts/types";
import type { LogContext } from "../define-job";
import type { ChildJob, HandlerEvent, LogLevel, StopReason } from "../types";
import type { WireError } from "./wire-error";

/** Data that a thread is started with. */
export interface ThreadData {
  readonly key: string;
  readonly payload: unknown;
  readonly tenantId: string;
  readonly jobId: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly chainDepth: number;
}

/** A call of the thread that waits for an answer. `run`, `rows` and `artifact` are numbers chosen by the thread. */
export type Call =
  | { readonly verb: "command"; readonly key: string; readonly args: Readonly<Record<string, unknown>> }
  | {
      readonly verb: "rows";
      readonly key: string;
      readonly args: Readonly<Record<string, unknown>>;
      readonly rows: number;
    }
  | { readonly verb: "artifact"; readonly name: string; readonly options: ArtifactOptions; readonly artifact: number }
  | { readonly verb: "write-artifact"; readonly artifact: number; readonly data: string | Uint8Array }
  | { readonly verb: "end-artifact"; readonly artifact: number }
  | { readonly verb: "next-row" | "end-rows" | "rows-result"; readonly rows: number }
  | { readonly verb: "step"; readonly name: string; readonly run: number }
  | { readonly verb: "publish-event"; readonly event: HandlerEvent }
  | { readonly verb: "open-file"; readonly providerId: string; readonly path: string };

/** An open file as the value is transferred to the receiver. */
export type GuestAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: WireError };

export type FromGuest =
  | { readonly type: "call"; readonly id: number; readonly call: Call }
  | { readonly type: "step-ran"; readonly run: number; readonly answer: GuestAnswer }
  | { readonly type: "progress"; readonly percent: number; readonly message?: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly context?: LogContext }
  | { readonly type: "enqueue"; readonly job: ChildJob }
  | { readonly type: "done"; readonly answer: GuestAnswer };

export type FromHost =
  | { readonly type: "answer"; readonly id: number; readonly answer: GuestAnswer }
  /** The step has no stored result: run it and send the answer. */
  | { readonly type: "run-step"; readonly run: number }
  | { readonly type: "abort"; readonly reason: StopReason };
