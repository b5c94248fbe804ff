import { MutationCache, type Query, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./http";
import { noteOwnChange } from "./live/own-change";

const RETRYABLE = new Set([0, 502, 503, 504]);

/**
 * Makes the cache of a browser tab. Answers that a retry cannot change are not retried. A query whose first answer was
 * an error stays an error, even while it is refetched, until data arrives.
 */
export function makeQueryClient(): QueryClient {
  const queryCache = new QueryCache();
  keepFirstErrors(queryCache);
  return new QueryClient({
    queryCache,
    mutationCache: new MutationCache({ onSuccess: noteOwnChange }),
    defaultOptions: {
      queries: {
        staleTime: 2000,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: true,
        retry: (failures, error) => failures < 2 && error instanceof ApiError && RETRYABLE.has(error.status),
        retryDelay: (attempt, error) => retryDelayMs(attempt, error),
      },
      mutations: { retry: false },
    },
  });
}

/** Fetching a query without data resets it to `pending`, which shows the skeleton. This restores its error. */
function keepFirstErrors(cache: QueryCache): void {
  const errors = new WeakMap<Query, Error>();
  cache.subscribe((event) => {
    if (event.type !== "updated") return;
    const { query, action } = event;
    if (action.type === "error") errors.set(query, action.error);
    const error = errors.get(query);
    if (action.type !== "fetch" || query.state.data !== undefined || error === undefined) return;
    query.setState({ status: "error", error });
  });
}

function retryDelayMs(attempt: number, error: Error): number {
  const asked = error instanceof ApiError && error.retryAfterSeconds !== null ? error.retryAfterSeconds * 1000 : 0;
  return Math.max(asked, Math.min(1000 * 2 ** attempt, 10_000));
}
