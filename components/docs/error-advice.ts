/** What a client does about an error answer, by its status. */
const ADVICE: Readonly<Record<number, string>> = {
  400: "The request could not be read. The detail says which part; send it in the documented form.",
  401: "Send a session cookie or a valid, unexpired API key in the Authorization header.",
  403: "You are known, but this is not allowed to you. Ask an administrator of the tenant, or use another key.",
  404: "It does not exist, or it belongs to another tenant: both are answered alike. Check the id and the tenant.",
  405: "The Allow header names the methods that this path takes.",
  408: "Send the body at once. Repeating the request is safe with an Idempotency-Key.",
  409: "Something else came first. Read the present state, then decide whether to repeat.",
  413: "Send less: the detail names the limit. Large data belongs into a file that the job reads.",
  415: "Send JSON, with Content-Type: application/json.",
  422: "The request was read, but its values do not fit. `errors` names each place by a JSON pointer.",
  429: "Wait for as many seconds as Retry-After says, then repeat.",
  500: "A fault of this installation. Quote the request_id to its operator.",
  503: "The database does not answer. Wait for Retry-After, then repeat; with an Idempotency-Key nothing happens twice.",
};

export const adviceFor = (status: number): string => ADVICE[status] ?? "See the detail of the answer.";
