import { createHash } from "node:crypto";
import { canonicalJson } from "../canonical-json.policy";
import { checkPayload } from "../enqueue/payload-check.policy";
import { QueueError } from "../errors";

/**
 * A dedupe key for content that is too long or too private to be one: `sha256:` and the hash of its value, whatever the
 * order of its members.
 * @throws QueueError payload-invalid for what is not JSON
 */
export function contentKey(content: unknown): string {
  const problems = checkPayload(content, { maxBytes: Number.MAX_SAFE_INTEGER });
  if (problems.length > 0) throw new QueueError("payload-invalid", "The content is not JSON.", { problems });
  return `sha256:${createHash("sha256").update(canonicalJson(content)).digest("hex")}`;
}
