/*
 * Forms in the browser: error messages by field, idempotency keys, local dates, and the question before unsaved input
 * is lost. The same content sent twice takes effect once.
 *
 * Start with `faultsOf` below, then `use-intent-key.ts` (one key per content) and `use-unsaved.ts` with
 * `history-guard.ts` (leaving a page).
 */

import { ApiError } from "../http";
import { pointerHead } from "../triggers/schema-form";

/** Returns an error's messages by body field. Messages that belong to no field are under "". */
export function faultsOf(error: Error): Map<string, string> {
  const faults = new Map<string, string>();
  if (!(error instanceof ApiError)) return faults.set("", error.message);
  for (const { pointer, detail } of error.errors) faults.set(pointerHead(pointer), detail);
  if (faults.size === 0) faults.set("", error.detail || error.title);
  return faults;
}
