import type { JobErrorOptions } from "@/lib/execution/errors";
import type { CsvOptions } from "./csv-dialect";
import type { PackedBatch } from "./csv-packed";

/** Messages to the thread that reads a CSV file. The thread answers each with exactly one message. */
export type ToCsvThread =
  | { readonly type: "begin"; readonly options: CsvOptions }
  /** Null: the file has ended. */
  | { readonly type: "chunk"; readonly bytes: Uint8Array | null }
  /** The batch was written. */
  | { readonly type: "written" };

export type FromCsvThread =
  /** `heldBytes`: bytes of an incomplete record. */
  | { readonly type: "more"; readonly heldBytes: number }
  | { readonly type: "batch"; readonly batch: PackedBatch }
  | { readonly type: "done" }
  /** `job` holds a JobError's properties beside its message; other errors are cloned with their class and stack. */
  | { readonly type: "failed"; readonly error: Error; readonly job: JobErrorOptions | null };
