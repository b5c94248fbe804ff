import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { Event, EventList, NewEventBody, Published, ReplayedEvent } from "@/lib/contract";
import { api } from "../http";
import { queryString } from "../query-string";
import { triggerKeys } from "./triggers";

export const EVENTS_PER_PAGE = 50;

export const eventKeys = {
  all: (tenant: string) => ["tenant", tenant, "events"] as const,
  one: (tenant: string, id: string) => [...eventKeys.all(tenant), "one", id] as const,
};

export interface EventListParams {
  /** A whole name, or a prefix followed by `*`. */
  readonly name?: string | null;
  readonly cursor?: string | null;
  readonly correlation?: string | null;
  readonly limit?: number;
}

export function eventsOptions(tenant: string, { name, cursor, correlation, limit = EVENTS_PER_PAGE }: EventListParams) {
  const query = queryString({ limit, name, cursor, correlation_id: correlation });
  return queryOptions({
    queryKey: [...eventKeys.all(tenant), "list", query],
    queryFn: ({ signal }) => api<EventList>(`/events${query}`, { tenant, signal }),
    placeholderData: keepPreviousData,
  });
}

export function eventOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: eventKeys.one(tenant, id),
    queryFn: ({ signal }) => api<Event>(`/events/${id}`, { tenant, signal }),
  });
}

/** Matches a stored event with the triggers again. The same key sent twice replays it once. */
export function useReplayEvent(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, key }: { id: string; key: string }) =>
      api<ReplayedEvent>(`/events/${id}/replay`, { tenant, method: "POST", body: {}, idempotencyKey: key }),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: eventKeys.all(tenant) });
      void client.invalidateQueries({ queryKey: triggerKeys.all(tenant) });
    },
  });
}

/** An event that is being composed. */
export interface EventDraft {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

/** Publishes one event. The same key sent twice publishes one event. */
export function usePublishEvent(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: NewEventBody; key: string }) =>
      api<Published>("/events", { tenant, method: "POST", body, idempotencyKey: key }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: eventKeys.all(tenant) });
      void client.invalidateQueries({ queryKey: triggerKeys.all(tenant) });
    },
  });
}
