import type { ProblemCode } from "@/lib/contract";

interface ErrorHelp {
  readonly meaning: string;
  readonly remedy: string;
}

/** The meaning of each error code and what a client should do. */
export const ERROR_HELP: Readonly<Record<ProblemCode, ErrorHelp>> = {
  "bad-request": {
    meaning: "The request could not be read as one of this API. The detail says which part.",
    remedy: "Correct that part. Sent again unchanged, it is refused again.",
  },
  "malformed-json": {
    meaning: "The body is not JSON in UTF-8. The detail names the character at which reading stopped.",
    remedy: "Serialize the body with a JSON library instead of joining strings.",
  },
  "invalid-path": {
    meaning: "A part of the path has the wrong form, for instance an id that is not a UUID.",
    remedy: "Use the id as an answer gave it.",
  },
  "invalid-query": {
    meaning: "A query parameter is unknown, repeated or has the wrong form; errors names it.",
    remedy: "Correct its spelling or value. In times, write + as %2B.",
  },
  "invalid-cursor": {
    meaning: "The cursor was made for another list, tenant or filter, or was cut short.",
    remedy: "Begin again without a cursor, and keep the filters the same while paging.",
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
    meaning: "The request carries a session cookie and an Authorization header, so it is not clear who asks.",
    remedy: "Send one of them.",
  },
  "credentials-in-url": {
    meaning: "An API key stands in the URL, where logs and histories keep it. The attempt was recorded.",
    remedy: "Take the key for exposed: have it replaced, and send the new one in the Authorization header.",
  },
  unauthenticated: {
    meaning: "There is no session and no key, or the one that was sent has expired or was revoked.",
    remedy: "Sign in again, or send a valid key as Authorization: Bearer lhk_live_…",
  },
  forbidden: {
    meaning: "You are known, but your role in this tenant does not include the permission of this route.",
    remedy: "Ask an administrator of the tenant for another role.",
  },
  "password-change-required": {
    meaning: "You signed in with a one-time password, which opens nothing but its own change. API keys go on.",
    remedy: "Choose a password at /account/password, or with POST /api/v1/me/password.",
  },
  "insufficient-scope": {
    meaning: "The role of the key's creator would allow this, but the key's scopes do not.",
    remedy: "Use a key that has the scope.",
  },
  "session-required": {
    meaning: "What was asked for is not left to API keys, whatever their scopes: it could outlive the key.",
    remedy: "Sign in as a super admin, and do it in the pages or with the session cookie.",
  },
  "cross-site-request": {
    meaning: "A request with a session cookie that changes something did not come from a page of this installation.",
    remedy: "Call the API from other sites and programs with an API key, not with the cookie.",
  },
  "tenant-suspended": {
    meaning: "The operator suspended the tenant. It can be read, but not changed, and none of its jobs starts.",
    remedy: "Ask the operator of the installation.",
  },
  "not-found": {
    meaning: "It does not exist, or it belongs to another tenant: both are answered alike.",
    remedy: "Check the id, the path and the tenant that the request names.",
  },
  "method-not-allowed": {
    meaning: "The path exists, but does not take this method.",
    remedy: "The Allow header of the answer names the methods it takes.",
  },
  "body-too-slow": {
    meaning: "The body was announced but did not arrive in time.",
    remedy: "Send it again at once. With an Idempotency-Key nothing happens twice.",
  },
  conflict: {
    meaning: "Something else was changed first.",
    remedy: "Read the present state, then decide whether to repeat.",
  },
  "state-conflict": {
    meaning:
      "The job is in a state that does not allow this: a succeeded one is not retried, an ended one not canceled.",
    remedy: "Read the job, then decide. To run a succeeded job again, enqueue a new job.",
  },
  "chain-too-deep": {
    meaning:
      "The request comes from a job (header Leasehold-Chain), and so many jobs caused each other before it that it looks like a loop.",
    remedy: "Look at the jobs of this correlation id and break the loop. The limit is EVENT_MAX_DEPTH.",
  },
  "action-over": {
    meaning: "The act on many jobs has ended already, so it cannot be aborted.",
    remedy: "Read the action: its status and its results say what was done.",
  },
  "precondition-failed": {
    meaning: "The resource has another ETag than the one in If-Match: it was changed since you read it.",
    remedy: "Read it again, make your change on what it is now, and send the new ETag.",
  },
  "artifact-gone": {
    meaning: "The artifact was deleted while it was written, or another upload of the same name began.",
    remedy: "Upload the whole artifact again.",
  },
  "lease-lost": {
    meaning:
      "The attempt is over, its lease ran out and was taken, or it never was this worker's. Nothing was written.",
    remedy: "Stop the work and drop its result. Claim again; another worker has the job by now.",
  },
  "dedupe-taken": {
    meaning: "Another job holds the dedupe key, so this one cannot be put back into the queue.",
    remedy: "Wait until that job has ended, or cancel it.",
  },
  "definition-exists": {
    meaning: "A definition has this key already; keys are never used twice.",
    remedy: "Choose another key, or change the definition that exists.",
  },
  "limit-exists": {
    meaning: "A queue, a definition, or either for a tenant has one limit at most, and this one has it already.",
    remedy: "Change the limit that is there: PATCH /api/v1/admin/limits/{id}.",
  },
  "queue-exists": {
    meaning: "There is a queue with this name already. Names of queues are unique in the installation.",
    remedy: "Choose another name, or change the queue that is there.",
  },
  "provider-exists": {
    meaning: "The tenant has a provider with this name already.",
    remedy: "Choose another name.",
  },
  "idempotency-in-flight": {
    meaning: "A request with the same Idempotency-Key has not been answered yet.",
    remedy: "Wait a moment and send the same request again; it then gets the answer of the first.",
  },
  "payload-too-large": {
    meaning: "The payload is larger than 256 KiB of UTF-8.",
    remedy: "Put large data into a file and let the job read it.",
  },
  "artifact-quota": {
    meaning:
      "The artifact would take its job or its tenant over a quota. The detail names the quota. Nothing is kept of it.",
    remedy: "Delete artifacts that are not needed, or make a smaller one. An operator can raise the quota.",
  },
  "body-too-large": {
    meaning: "The body is larger than this route takes. The detail names the limit.",
    remedy: "Send less at once.",
  },
  "misdirected-request": {
    meaning: "The Host header names neither the host of AUTH_URL nor one of ALLOWED_HOSTS.",
    remedy: "Use the public address. The operator adds further names, such as one inside a cluster, to ALLOWED_HOSTS.",
  },
  "unsupported-media-type": {
    meaning: "The body is not announced as JSON, or it is compressed.",
    remedy: "Send Content-Type: application/json, uncompressed.",
  },
  "validation-failed": {
    meaning: "The body was read, but some values do not fit. errors names each place by a JSON pointer.",
    remedy: "Correct those values. Fields that do not exist are refused, too.",
  },
  "payload-invalid": {
    meaning: "The payload does not fit the argument schema of its definition, or could not be stored exactly.",
    remedy: "errors names each place. GET /api/v1/jobs/definitions gives the schema.",
  },
  "definition-unknown": {
    meaning: "No definition has the key that the request names.",
    remedy: "GET /api/v1/jobs/definitions lists those that exist.",
  },
  "definition-inactive": {
    meaning: "The definition has been switched off and takes no new jobs.",
    remedy: "A super admin can switch it on again.",
  },
  "queue-unknown": {
    meaning: "There is no active queue of this name.",
    remedy: "Leave the queue out to use the one of the definition, or correct its name.",
  },
  "arg-schema-invalid": {
    meaning: "The argument schema is not a JSON Schema that can be used here. errors names the place.",
    remedy: "Correct that place of the schema.",
  },
  "provider-path-invalid": {
    meaning: "The folder is not there, is not a folder, or lies outside the folders that may be registered.",
    remedy: "Choose a folder below one of PROVIDER_ROOTS, and check that the server may read it.",
  },
  "idempotency-mismatch": {
    meaning: "The Idempotency-Key was sent with another body within the last 24 hours.",
    remedy: "Use a new key for a new request, and the same one only to repeat.",
  },
  "too-many-requests": {
    meaning: "There were too many attempts within a short time.",
    remedy: "Wait for as many seconds as Retry-After says, then try again.",
  },
  "too-many-streams": {
    meaning: "As many live streams as one person or API key may have are open.",
    remedy: "Close one of them, for instance a browser tab, then connect again.",
  },
  "too-many-polls": {
    meaning: "As many claims of this worker's key wait for work as may wait at once.",
    remedy:
      "Let one claim of each worker wait, ask for several jobs in it, or give groups of workers keys of their own.",
  },
  "too-many-actions": {
    meaning: "As many actions on many jobs as a tenant may have are waiting or under way.",
    remedy: "Wait until one is over, abort one, or name more jobs in one action: by a filter, or up to 1,000 ids.",
  },
  "too-many-triggers": {
    meaning: "The tenant has as many triggers as it may, in all or on this name of an event.",
    remedy: "Delete one that is no longer needed, or let one trigger's condition stand for several.",
  },
  "too-many-workers": {
    meaning: "Too many names of workers were used with this key within a day.",
    remedy: "Use one name for each start of a worker, or give groups of workers keys of their own.",
  },
  "internal-error": {
    meaning: "A fault of this installation, not of the request.",
    remedy: "Quote the request_id to the operator; the log has the cause under it.",
  },
  unavailable: {
    meaning: "The database does not answer at the moment.",
    remedy: "Wait for Retry-After, then repeat. With an Idempotency-Key nothing happens twice.",
  },
};
