import { queryOptions } from "@tanstack/react-query";
import type { Definition } from "@/lib/contract";
import { api } from "../http";

/** The definitions that may be enqueued. They rarely change, so they are cached for a minute. */
export function definitionsOptions(tenant: string) {
  return queryOptions({
    queryKey: ["tenant", tenant, "definitions"],
    queryFn: ({ signal }) => api<{ data: Definition[] }>("/jobs/definitions", { tenant, signal }),
    staleTime: 60_000,
  });
}
