import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ChangeDeadLetter, DeadLetterDetail, DeadLetterList } from "@/lib/contract";
import type { TriageStatus } from "@/lib/queue/states";
import { api } from "../http";
import { queryString } from "../query-string";

export const deadLetterKeys = {
  // Below the jobs' key, so that invalidating jobs also refreshes dead letters.
  all: (tenant: string) => ["tenant", tenant, "jobs", "dead-letters"] as const,
};

export interface DeadLetterListParams {
  readonly status: readonly TriageStatus[];
  readonly definition: string | null;
  readonly cursor: string | null;
}

export function deadLettersOptions(tenant: string, { status, definition, cursor }: DeadLetterListParams) {
  const query = queryString({ limit: 50, status, definition_key: definition, cursor });
  return queryOptions({
    queryKey: [...deadLetterKeys.all(tenant), "list", query],
    queryFn: ({ signal }) => api<DeadLetterList>(`/jobs/dead-letters${query}`, { tenant, signal }),
  });
}

export function deadLetterOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: [...deadLetterKeys.all(tenant), "one", id],
    queryFn: ({ signal }) => api<DeadLetterDetail>(`/jobs/dead-letters/${id}`, { tenant, signal }),
  });
}

/** Saves the triage of a dead letter. */
export function useTriage(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, change }: { id: string; change: ChangeDeadLetter }) =>
      api<DeadLetterDetail>(`/jobs/dead-letters/${id}`, { tenant, method: "PATCH", body: change }),
    onSettled: () => void client.invalidateQueries({ queryKey: deadLetterKeys.all(tenant) }),
  });
}
