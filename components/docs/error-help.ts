import type { ProblemCode } from "@/lib/contract";

interface ErrorHelp {
  readonly meaning: string;
  readonly remedy: string;
}

/** The meaning of each error code and what a client should do. */
export const ERROR_HELP: Readonly<Record<ProblemCode, ErrorHelp>> = {
  "bad-request": {
    meaning: "The request is malformed. The detail names the part.",
    remedy: "Correct that part before you send the request again.",
  },
  "malformed-json": {
    meaning: "The body is not valid JSON in UTF-8. The detail gives the position of the error.",
    remedy: "Serialize the body with a JSON library instead of joining strings.",
  },
  "invalid-path": {
    meaning: "A part of the path has the wrong form, for instance an id that is not a UUID.",
    remedy: "Use the id exactly as the API returned it.",
  },
  "invalid-query": {
    meaning: "A query parameter is unknown, repeated or has the wrong form. errors names it.",
    remedy: "Correct its spelling or value. In times, write + as %2B.",
  },
  "invalid-cursor": {
    meaning: "The cursor belongs to another list, tenant or filter, or is incomplete.",
    remedy: "Start again without a cursor, and keep the filters unchanged while paging.",
  },
  "invalid-idempotency-key": {
    meaning: "The Idempotency-Key is empty, too long or has characters other than printable ASCII.",
    remedy: "Send 1 to 255 printable ASCII characters, such as a UUID.",
  },
  "tenant-required": {
    meaning: "The route works inside one tenant, and a session or a super admin's key belongs to none.",
    remedy: "Name the tenant by id or slug in the X-Tenant-Id header.",
  },
  "ambiguous-credentials": {
    meaning: "The request has both a session cookie and an Authorization header.",
    remedy: "Send one of them.",
  },
  "credentials-in-url": {
    meaning: "The URL contains an API key, which logs and browser histories store. The attempt was audited.",
    remedy: "Treat the key as exposed: replace it, and send the new one in the Authorization header.",
  },
  unauthenticated: {
    meaning: "There is no session and no key, or the one that was sent has expired or was revoked.",
    remedy: "Sign in again, or send a valid key as Authorization: Bearer lhk_live_…",
  },
  forbidden: {
    meaning: "You are signed in, but your role in this tenant does not include the permission of this route.",
    remedy: "Ask an administrator of the tenant for another role.",
  },
  "password-change-required": {
    meaning: "You signed in with a one-time password and must change it first. API keys keep working.",
    remedy: "Choose a password at /account/password, or with POST /api/v1/me/password.",
  },
  "insufficient-scope": {
    meaning: "The role of the key's creator would allow this, but the key's scopes do not.",
    remedy: "Use a key that has the scope.",
  },
  "session-required": {
    meaning: "API keys cannot do this, whatever their scopes, because the result could outlive the key.",
    remedy: "Sign in as a super admin, and use the pages or the session cookie.",
  },
  "cross-site-request": {
    meaning: "A request with a session cookie that changes something did not come from a page of this installation.",
    remedy: "Call the API from other sites and programs with an API key, not with the cookie.",
  },
  "tenant-suspended": {
    meaning: "The operator suspended the tenant. It is read-only, and none of its jobs starts.",
    remedy: "Ask the operator of the installation.",
  },
  "not-found": {
    meaning: "The resource does not exist or belongs to another tenant. Both get the same answer.",
    remedy: "Check the id, the path and the tenant that the request names.",
  },
  "method-not-allowed": {
    meaning: "The path does not support this method.",
    remedy: "The Allow header lists the supported methods.",
  },
  "body-too-slow": {
    meaning: "The body was announced but did not arrive in time.",
    remedy: "Send the request again. With an Idempotency-Key it is executed once.",
  },
  conflict: {
    meaning: "A concurrent change came first.",
    remedy: "Read the current state, then decide whether to repeat the request.",
  },
  "state-conflict": {
    meaning:
      "The job's status does not allow this. A succeeded job cannot be retried, and an ended job cannot be canceled.",
    remedy: "Read the job, then decide. To run a succeeded job again, enqueue a new job.",
  },
  "chain-too-deep": {
    meaning:
      "The request comes from a job (header Leasehold-Chain), and its chain of jobs has reached the depth limit, like a loop.",
    remedy: "Look at the jobs of this correlation id and break the loop. The limit is EVENT_MAX_DEPTH.",
  },
  "action-over": {
    meaning: "The bulk action has ended, so it cannot be aborted.",
    remedy: "Read the status and the results of the action.",
  },
  "precondition-failed": {
    meaning: "The resource changed since you read it: its ETag differs from If-Match.",
    remedy: "Read it again, repeat your change, and send the new ETag.",
  },
  "artifact-gone": {
    meaning: "The artifact was deleted while it was written, or another upload of the same name began.",
    remedy: "Upload the whole artifact again.",
  },
  "lease-lost": {
    meaning:
      "The attempt has ended, its lease expired and was rescued, or it belongs to another worker. Nothing was written.",
    remedy: "Stop the work, drop its result, and claim again.",
  },
  "dedupe-taken": {
    meaning: "Another job holds the dedupe key, so this one cannot be queued again.",
    remedy: "Wait until that job has ended, or cancel it.",
  },
  "definition-exists": {
    meaning: "A definition with this key exists. Keys cannot be reused.",
    remedy: "Choose another key, or change the existing definition.",
  },
  "limit-exists": {
    meaning: "This target has a limit. A queue or a definition, for all tenants or for one, has one limit at most.",
    remedy: "Change the existing limit: PATCH /api/v1/admin/limits/{id}.",
  },
  "queue-exists": {
    meaning: "A queue with this name exists. Queue names are unique in the installation.",
    remedy: "Choose another name, or change the existing queue.",
  },
  "provider-exists": {
    meaning: "The tenant has a provider with this name.",
    remedy: "Choose another name.",
  },
  "idempotency-in-flight": {
    meaning: "A request with the same Idempotency-Key is still in progress.",
    remedy: "Wait a moment and send the same request again. It returns the answer of the first one.",
  },
  "payload-too-large": {
    meaning: "The payload is larger than 256 KiB of UTF-8.",
    remedy: "Put large data into a file and let the job read it.",
  },
  "artifact-quota": {
    meaning:
      "The artifact exceeds a quota of its job or its tenant. The detail names the quota. The artifact was not stored.",
    remedy: "Delete artifacts that are not needed, or make a smaller one. An operator can raise the quota.",
  },
  "body-too-large": {
    meaning: "The body is larger than this route accepts. The detail names the limit.",
    remedy: "Send smaller requests.",
  },
  "misdirected-request": {
    meaning: "The Host header names neither the host of AUTH_URL nor one of ALLOWED_HOSTS.",
    remedy: "Use the public address. The operator adds further names, such as one inside a cluster, to ALLOWED_HOSTS.",
  },
  "unsupported-media-type": {
    meaning: "The Content-Type is not JSON, or the body is compressed.",
    remedy: "Send Content-Type: application/json, uncompressed.",
  },
  "validation-failed": {
    meaning: "Some values of the body are not valid. errors has a JSON pointer for each.",
    remedy: "Correct these values. Unknown fields are refused too.",
  },
  "payload-invalid": {
    meaning: "The payload does not match the argument schema of its definition, or cannot be stored exactly.",
    remedy: "errors has a JSON pointer for each problem. GET /api/v1/jobs/definitions returns the schema.",
  },
  "definition-unknown": {
    meaning: "No definition has this key.",
    remedy: "GET /api/v1/jobs/definitions lists the definitions.",
  },
  "definition-inactive": {
    meaning: "The definition is disabled and accepts no new jobs.",
    remedy: "A super admin can enable it again.",
  },
  "queue-unknown": {
    meaning: "No active queue has this name.",
    remedy: "Omit the queue to use the definition's queue, or correct its name.",
  },
  "arg-schema-invalid": {
    meaning: "The argument schema is not a supported JSON Schema. errors has a JSON pointer to the problem.",
    remedy: "Correct the schema at that pointer.",
  },
  "provider-path-invalid": {
    meaning: "The path does not exist, is not a folder, or is outside the folders that can be registered.",
    remedy: "Choose a folder below one of PROVIDER_ROOTS, and check that the server can read it.",
  },
  "idempotency-mismatch": {
    meaning: "The Idempotency-Key was sent with another body within the last 24 hours.",
    remedy: "Use a new key for each request, and reuse a key only to repeat its request.",
  },
  "too-many-requests": {
    meaning: "Too many attempts were made in a short time.",
    remedy: "Wait for the seconds in Retry-After, then try again.",
  },
  "too-many-streams": {
    meaning: "The user or API key has reached the limit of open streams.",
    remedy: "Close one of them, for instance a browser tab, then connect again.",
  },
  "too-many-polls": {
    meaning: "The worker key has reached the limit of waiting claims.",
    remedy: "Use one waiting claim per worker, claim several jobs at once, or give groups of workers their own keys.",
  },
  "too-many-actions": {
    meaning: "The tenant has reached the limit of open bulk actions.",
    remedy: "Wait until one ends, abort one, or select more jobs in one action: by a filter, or up to 1,000 ids.",
  },
  "too-many-triggers": {
    meaning: "The tenant has reached the limit of triggers, in total or for this event name.",
    remedy: "Delete a trigger that is no longer needed, or combine several into one.",
  },
  "too-many-workers": {
    meaning: "Too many worker names used this key within a day.",
    remedy: "Use one name for each start of a worker, or give groups of workers their own keys.",
  },
  "internal-error": {
    meaning: "An error of this installation, not of the request.",
    remedy: "Report the request_id to the operator, who finds the cause in the log.",
  },
  unavailable: {
    meaning: "The database does not answer at the moment.",
    remedy: "Wait for Retry-After, then repeat the request. With an Idempotency-Key it is executed once.",
  },
};
