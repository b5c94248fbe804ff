/*
 * The browser side of the API: requests, queries with their cache keys, live updates, and form state. Nothing here
 * renders, except the providers in `live/`. Every failed request is an `ApiError`. A request that the page sends on its
 * own is marked as background, so it does not keep a session alive.
 *
 * Start here, then `query-client.ts` (caching and retries) and `live/live-feed.ts` (live updates). `jobs/` and
 * `triggers/` have the queries and forms of those pages, `forms/` what all forms share.
 */

import type { Problem, ProblemError } from "@/lib/contract";
import { BACKGROUND_HEADER } from "@/lib/contract/background";
import { noteServerDate } from "./clock";
import { takeActivity } from "./live/activity";

interface ApiFailure {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly errors: readonly ProblemError[];
  readonly retryAfterSeconds: number | null;
}

/** An error answer of the API, or no answer at all (`status` 0). */
export class ApiError extends Error implements ApiFailure {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly errors: readonly ProblemError[];
  readonly retryAfterSeconds: number | null;

  constructor(failure: ApiFailure) {
    super(failure.detail || failure.title);
    this.status = failure.status;
    this.code = failure.code;
    this.title = failure.title;
    this.detail = failure.detail;
    this.requestId = failure.requestId;
    this.errors = failure.errors;
    this.retryAfterSeconds = failure.retryAfterSeconds;
  }
}

/** Returns true for a 404 answer. Such a query is not polled again. */
export const isAbsent = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

const UNREACHABLE: ApiFailure = {
  status: 0,
  code: "unreachable",
  title: "The server cannot be reached",
  detail: "Check the connection.",
  requestId: null,
  errors: [],
  retryAfterSeconds: null,
};

export interface ApiRequest {
  /** Slug of the request's tenant: always the one in the page's own path. */
  readonly tenant?: string;
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  /** The ETag that the change is based on. */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
}

export interface ApiAnswer<T> {
  readonly status: number;
  readonly data: T;
}

type SessionListener = () => void;
const sessionListeners = new Set<SessionListener>();

/** Calls `listener` whenever an answer shows that the session has ended. Returns the function that removes it. */
export function onSessionEnd(listener: SessionListener): () => void {
  sessionListeners.add(listener);
  return () => sessionListeners.delete(listener);
}

/** Sends a request to /api/v1 with the session cookie. @throws ApiError for every failure except an abort */
export async function apiRequest<T>(path: string, request: ApiRequest = {}): Promise<ApiAnswer<T>> {
  const response = await send(path, request);
  noteServerDate(response.headers.get("date"));
  if (!response.ok) throw await failure(response);
  return { status: response.status, data: (await response.json()) as T };
}

/** The same, for callers that need only the body. */
export async function api<T>(path: string, request?: ApiRequest): Promise<T> {
  return (await apiRequest<T>(path, request)).data;
}

async function send(path: string, { tenant, method = "GET", body, idempotencyKey, ifMatch, signal }: ApiRequest) {
  const headers: Record<string, string> = { accept: "application/json" };
  if (!takeActivity()) headers[BACKGROUND_HEADER] = "1";
  if (tenant !== undefined) headers["x-tenant-id"] = tenant;
  if (body !== undefined) headers["content-type"] = "application/json";
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  if (ifMatch !== undefined) headers["if-match"] = ifMatch;
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    return await fetch(`/api/v1${path}`, { method, headers, body: text, signal, credentials: "same-origin" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(UNREACHABLE);
  }
}

async function failure(response: Response): Promise<ApiError> {
  const problem = await readProblem(response);
  if (response.status === 401) for (const listener of sessionListeners) listener();
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ApiError({
    status: response.status,
    code: problem.code ?? "error",
    title: problem.title ?? `The server answered ${response.status}`,
    detail: problem.detail ?? "",
    requestId: problem.request_id ?? response.headers.get("x-request-id"),
    errors: problem.errors ?? [],
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
  });
}

async function readProblem(response: Response): Promise<Partial<Problem>> {
  try {
    const body: unknown = await response.json();
    return typeof body === "object" && body !== null ? (body as Partial<Problem>) : {};
  } catch {
    return {};
  }
}
