import { queryOptions } from "@tanstack/react-query";
import type { CreateLimit, CreatePause, Limit, Pause, Queue } from "@/lib/contract";
import { api } from "./http";

const KEY = ["platform", "queues"] as const;

/** Key of queues, pauses and limits. They are changed together, so they are refetched together. */
export const queuesKey = KEY;

export function queuesOptions() {
  return queryOptions({
    queryKey: [...KEY, "queues"],
    queryFn: ({ signal }) => api<{ data: Queue[] }>("/admin/queues", { signal }),
  });
}

export function pausesOptions() {
  return queryOptions({
    queryKey: [...KEY, "pauses"],
    queryFn: ({ signal }) => api<{ data: Pause[] }>("/admin/pause", { signal }),
  });
}

export function limitsOptions() {
  return queryOptions({
    queryKey: [...KEY, "limits"],
    queryFn: ({ signal }) => api<{ data: Limit[] }>("/admin/limits", { signal }),
  });
}

export const setPause = (body: CreatePause, idempotencyKey: string) =>
  api<Pause>("/admin/pause", { method: "POST", body, idempotencyKey });
export const removePause = (id: string) => api<Pause>(`/admin/pause/${id}`, { method: "DELETE" });
export const postLimit = (body: CreateLimit, idempotencyKey: string) =>
  api<Limit>("/admin/limits", { method: "POST", body, idempotencyKey });
export const removeLimit = (id: number) => api<Limit>(`/admin/limits/${id}`, { method: "DELETE" });
