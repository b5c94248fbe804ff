import * as z from "zod";
import { JOB_STATUSES } from "@/lib/queue/states";

/** Every `code` of an error answer, with its HTTP status and title. The code is stable, the text is not. */
export const PROBLEMS = {
  "bad-request": [400, "The request cannot be understood"],
  "malformed-json": [400, "The body is not valid JSON"],
  "invalid-path": [400, "The path is not valid"],
  "invalid-query": [400, "A query parameter is not valid"],
  "invalid-cursor": [400, "The cursor does not belong to this list"],
  "invalid-idempotency-key": [400, "The Idempotency-Key header is not valid"],
  "tenant-required": [400, "The request names no tenant"],
  "ambiguous-credentials": [400, "Send a session cookie or an API key, not both"],
  "credentials-in-url": [400, "API keys are accepted in the Authorization header only"],
  unauthenticated: [401, "Sign in or send an API key"],
  forbidden: [403, "Your role does not allow this"],
  "password-change-required": [403, "Change your one-time password first"],
  "insufficient-scope": [403, "The API key's scopes do not allow this"],
  "session-required": [403, "API keys cannot do this: sign in"],
  "cross-site-request": [403, "Requests from other sites are refused"],
  "tenant-suspended": [403, "The tenant is suspended"],
  "not-found": [404, "Not found"],
  "method-not-allowed": [405, "The method is not supported here"],
  "body-too-slow": [408, "The body did not arrive in time"],
  conflict: [409, "The request conflicts with the current state"],
  "state-conflict": [409, "The job's state does not allow this"],
  "lease-lost": [409, "The lease is lost"],
  "chain-too-deep": [409, "Too many jobs caused each other"],
  "dedupe-taken": [409, "Another job holds the dedupe key"],
  "action-over": [409, "The action has ended"],
  "definition-exists": [409, "A definition with this key exists"],
  "limit-exists": [409, "This target has a limit"],
  "queue-exists": [409, "A queue with this name exists"],
  "provider-exists": [409, "A provider with this name exists"],
  "too-many-triggers": [409, "Trigger limit reached"],
  "artifact-gone": [409, "The artifact was deleted or is being written again"],
  "idempotency-in-flight": [409, "A request with this Idempotency-Key is running"],
  "precondition-failed": [412, "The resource changed since you read it"],
  "payload-too-large": [413, "The payload is too large"],
  "body-too-large": [413, "The body is too large"],
  "artifact-quota": [413, "The artifact exceeds a quota"],
  "unsupported-media-type": [415, "The body must be application/json"],
  "misdirected-request": [421, "This host name is not served here"],
  "validation-failed": [422, "The request is not valid"],
  "payload-invalid": [422, "The payload does not fit the definition"],
  "definition-unknown": [422, "Definition not found"],
  "definition-inactive": [422, "The definition is not active"],
  "queue-unknown": [422, "Queue not found"],
  "arg-schema-invalid": [422, "The argument schema is not valid"],
  "provider-path-invalid": [422, "The folder cannot be registered"],
  "idempotency-mismatch": [422, "The Idempotency-Key was used for another request"],
  "too-many-requests": [429, "Too many requests"],
  "too-many-streams": [429, "Too many open streams"],
  "too-many-polls": [429, "Too many claims are waiting"],
  "too-many-actions": [429, "Too many actions of this tenant are open"],
  "too-many-workers": [429, "Too many workers use this key"],
  "internal-error": [500, "Something went wrong"],
  unavailable: [503, "The service is not available"],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof PROBLEMS;
export const problemCode = z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]);

/** One problem in the request; `pointer` is a JSON pointer into the body (RFC 6901). */
export const problemError = z.object({ pointer: z.string(), code: z.string(), detail: z.string() });
export type ProblemError = z.infer<typeof problemError>;

/** An error answer (RFC 9457, application/problem+json). */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  code: problemCode,
  request_id: z.string(),
  errors: z.array(problemError).optional(),
  /** The job's current status, for a state-conflict. */
  current_status: z.enum(JOB_STATUSES).optional(),
});
export type Problem = z.infer<typeof problem>;
