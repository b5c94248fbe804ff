import { MutationCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./http";
import { noteOwnChange } from "./own-change";

const RETRYABLE = new Set([0, 502, 503, 504]);

/** One cache per browser tab. Answers that retrying cannot change are not retried. */
export function makeQueryClient(): QueryClient {
  return new QueryClient({
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

function retryDelayMs(attempt: number, error: Error): number {
  const asked = error instanceof ApiError && error.retryAfterSeconds !== null ? error.retryAfterSeconds * 1000 : 0;
  return Math.max(asked, Math.min(1000 * 2 ** attempt, 10_000));
}
