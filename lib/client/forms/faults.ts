import { ApiError } from "../http";
import { pointerHead } from "../triggers/schema-form";

/** What an error says, by the field of the body that it is about; what belongs to no field stands under "". */
export function faultsOf(error: Error): Map<string, string> {
  const faults = new Map<string, string>();
  if (!(error instanceof ApiError)) return faults.set("", error.message);
  for (const { pointer, detail } of error.errors) faults.set(pointerHead(pointer), detail);
  if (faults.size === 0) faults.set("", error.detail || error.title);
  return faults;
}
