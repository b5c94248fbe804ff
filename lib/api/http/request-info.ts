import { randomUUID } from "node:crypto";

/** Set by the front, which removes whatever a client sent under these names. */
export const REQUEST_ID_HEADER = "x-request-id";
export const CLIENT_IP_HEADER = "x-leasehold-client-ip";
/** Set by a route that sends a file: its length in bytes, which the front makes the answer's length. */
export const FILE_LENGTH_HEADER = "x-leasehold-file-length";

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** What every part of a request's handling may need to know about it. */
export interface RequestInfo {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly ifMatch: string | null;
  /** What a job says of itself, see `chainDepth`. */
  readonly chain: string | null;
}

/** What is read of a request before its body. */
export type RequestHead = Pick<Request, "url" | "method" | "headers">;

export function requestInfo(request: RequestHead): RequestInfo {
  const url = new URL(request.url);
  return {
    id: usableRequestId(request.headers.get(REQUEST_ID_HEADER)) ?? randomUUID(),
    method: request.method,
    path: url.pathname,
    search: url.search,
    ip: request.headers.get(CLIENT_IP_HEADER),
    userAgent: request.headers.get("user-agent"),
    ifMatch: request.headers.get("if-match"),
    chain: request.headers.get("leasehold-chain"),
  };
}

/** A client's request id is kept when it can be logged safely. */
export function usableRequestId(sent: string | null | undefined): string | null {
  return sent && REQUEST_ID.test(sent) ? sent : null;
}
