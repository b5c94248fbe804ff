import { createHash } from "node:crypto";
import { canonicalJson } from "../canonical-json.policy";
import { checkPayload } from "../enqueue/payload-check.policy";
import { QueueError } from "../errors";

/**
 * Returns a dedupe key for content that is too long or too private to be a key: `sha256:` and the hash of its value.
 * The order of object members does not matter.
 * @throws QueueError payload-invalid for content that is not JSON
 */
export function contentKey(content: unknown): string {
  const problems = checkPayload(content, { maxBytes: Number.MAX_SAFE_INTEGER });
  if (problems.length > 0) throw new QueueError("payload-invalid", "The content is not JSON.", { problems });
  return `sha256:${createHash("sha256").update(canonicalJson(content)).digest("hex")}`;
}
