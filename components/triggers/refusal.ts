import { ApiError } from "@/lib/client/http";

/** Returns why a change of a trigger was refused, as a sentence. */
export function refusal(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  if (error.status === 412)
    return "This trigger was changed since you opened it. The page now shows the new version; try again.";
  const [first] = error.errors;
  return first ? `${first.pointer.slice(1) || "request"} ${first.detail}` : error.detail || error.title;
}
