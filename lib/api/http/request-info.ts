import { randomUUID } from "node:crypto";

/** Set by the front, which removes these headers from client requests. */
export const REQUEST_ID_HEADER = "x-request-id";
export const CLIENT_IP_HEADER = "x-leasehold-client-ip";
/** Set by a route that sends a file: its length in bytes, which the front sends as Content-Length. */
export const FILE_LENGTH_HEADER = "x-leasehold-file-length";

const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** The parts of a request that its handling may need anywhere. */
export interface RequestInfo {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly ifMatch: string | null;
  /** The chain depth sent by a job, see `chainDepth`. */
  readonly chain: string | null;
}

/** The parts of a request that are read before its body. */
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

/** Returns a client's request id if it is safe to log, else null. */
export function usableRequestId(sent: string | null | undefined): string | null {
  return sent && REQUEST_ID.test(sent) ? sent : null;
}
