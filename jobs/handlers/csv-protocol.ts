import type { JobErrorOptions } from "@/lib/execution/errors";
import type { CsvOptions } from "./csv-dialect";
import type { PackedBatch } from "./csv-packed";

/** What the worker says to the thread that reads a CSV file. The thread answers each message with exactly one. */
export type ToCsvThread =
  | { readonly type: "begin"; readonly options: CsvOptions }
  /** Null: the file has ended. */
  | { readonly type: "chunk"; readonly bytes: Uint8Array | null }
  /** The batch was written. */
  | { readonly type: "written" };

export type FromCsvThread =
  /** `heldBytes`: of a record that is not complete yet. */
  | { readonly type: "more"; readonly heldBytes: number }
  | { readonly type: "batch"; readonly batch: PackedBatch }
  | { readonly type: "done" }
  /** `job` is what a JobError says beside its message; other errors are cloned with their kind and stack. */
  | { readonly type: "failed"; readonly error: Error; readonly job: JobErrorOptions | null };
