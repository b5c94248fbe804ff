import { queryOptions } from "@tanstack/react-query";
import type { EventList, EventRow, JobList, JobRow } from "@/lib/contract";
import { api } from "../http";
import { queryString } from "../query-string";

const READ = 50;

export type ChainLink =
  | { readonly kind: "event"; readonly at: string; readonly event: EventRow }
  | { readonly kind: "job"; readonly at: string; readonly job: JobRow };

export interface Chain {
  /** Ordered by creation. */
  readonly links: readonly ChainLink[];
  /** True if there are more links than shown. */
  readonly hasMore: boolean;
}

export const chainKey = (tenant: string, correlation: string) => ["tenant", tenant, "chain", correlation] as const;

/**
 * The events and jobs of one correlation id. If the id is that of a job enqueued without a correlation id, that job is
 * included.
 */
export function chainOptions(tenant: string, correlation: string) {
  const query = queryString({ limit: READ, correlation_id: correlation });
  return queryOptions({
    queryKey: chainKey(tenant, correlation),
    queryFn: async ({ signal }): Promise<Chain> => {
      const [events, jobs] = await Promise.all([
        api<EventList>(`/events${query}`, { tenant, signal }),
        api<JobList>(`/jobs${query}`, { tenant, signal }),
      ]);
      return {
        links: inOrder(events.data, jobs.data),
        hasMore: events.pagination.has_more || jobs.pagination.has_more,
      };
    },
  });
}

/**
 * Orders events and jobs by time. An event comes before the jobs that it started in its own transaction, which have the
 * same instant.
 */
export function inOrder(events: readonly EventRow[], jobs: readonly JobRow[]): ChainLink[] {
  const links: ChainLink[] = [
    ...events.map((event) => ({ kind: "event" as const, at: event.received_at, event })),
    ...jobs.map((job) => ({ kind: "job" as const, at: job.queued_at, job })),
  ];
  return links.sort((one, other) => Date.parse(one.at) - Date.parse(other.at) || (one.kind < other.kind ? -1 : 1));
}
