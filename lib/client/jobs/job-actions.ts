import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type {
  BulkAction,
  CreateJobAction,
  JobAction,
  JobActionFilter,
  JobActionList,
  JobActionPreview,
  JobActionResult,
  JobActionResults,
  Redrive,
} from "@/lib/contract";
import { randomKey } from "../forms/random-key";
import { api } from "../http";
import { IDLE_POLL_MS } from "../live/use-live";
import { queryString } from "../query-string";
import type { JobFilters } from "./job-filters";
import { jobKeys } from "./jobs";

const WHILE_OPEN_MS = 1000;

const keys = {
  all: (tenant: string) => ["tenant", tenant, "job-actions"] as const,
  list: (tenant: string, cursor: string | null) => [...keys.all(tenant), "list", cursor] as const,
  one: (tenant: string, id: string) => [...keys.all(tenant), "one", id] as const,
};

/** A request for an action on many jobs: on listed jobs, on filtered jobs, or a redrive of dead letters. */
export type BulkActionDraft =
  | { readonly kind: "jobs"; readonly body: CreateJobAction }
  | { readonly kind: "dead-letters"; readonly body: Redrive };

const pathOf = (request: BulkActionDraft) => (request.kind === "jobs" ? "/jobs/actions" : "/jobs/dead-letters/redrive");

/** Returns the job list's filters as an action takes them, without the position in the list. */
export function actionFilter(filters: JobFilters): JobActionFilter {
  const { status, source, definition, queue, after, before, q } = filters;
  return {
    ...(status.length > 0 ? { status: [...status] } : {}),
    ...(source ? { source } : {}),
    ...(definition ? { definition_key: definition } : {}),
    ...(queue ? { queue } : {}),
    ...(after ? { created_after: after } : {}),
    ...(before ? { created_before: before } : {}),
    ...(q?.trim() ? { q: q.trim() } : {}),
  };
}

/** The jobs that an action would apply to. Never cached, because the user decides by it. */
export function actionPreviewOptions(tenant: string, request: BulkActionDraft) {
  return queryOptions({
    queryKey: [...keys.all(tenant), "preview", request],
    queryFn: ({ signal }) =>
      api<JobActionPreview>(pathOf(request), {
        tenant,
        method: "POST",
        body: { ...request.body, dry_run: true },
        signal,
      }),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
}

/** Requests an action. The same key sent twice starts one action. */
export function useStartAction(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ request, key }: { request: BulkActionDraft; key: string }) =>
      api<JobAction>(pathOf(request), { tenant, method: "POST", body: request.body, idempotencyKey: key }),
    onSuccess: () => void client.invalidateQueries({ queryKey: keys.all(tenant) }),
  });
}

export function useAbortAction(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      api<JobAction>(`/jobs/actions/${id}/abort`, { tenant, method: "POST", body: {}, idempotencyKey: randomKey() }),
    onSuccess: (action) => client.setQueryData(keys.one(tenant, action.id), action),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: keys.all(tenant) });
      void client.invalidateQueries({ queryKey: jobKeys.all(tenant) });
    },
  });
}

/** One action, polled each second until it has finished. */
export function actionOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: keys.one(tenant, id),
    queryFn: ({ signal }) => api<JobAction>(`/jobs/actions/${id}`, { tenant, signal }),
    refetchInterval: (query) => (query.state.data?.finished_at ? false : WHILE_OPEN_MS),
  });
}

export function actionListOptions(tenant: string, cursor: string | null) {
  return queryOptions({
    queryKey: keys.list(tenant, cursor),
    queryFn: ({ signal }) =>
      api<JobActionList>(`/jobs/actions${queryString({ limit: 50, cursor })}`, { tenant, signal }),
    refetchInterval: (query) =>
      query.state.data?.data.some((action) => action.finished_at === null) ? 2 * WHILE_OPEN_MS : IDLE_POLL_MS,
  });
}

interface ResultListParams {
  readonly result: JobActionResult["result"] | null;
  readonly after: string | null;
}

export function actionResultsOptions(tenant: string, id: string, params: ResultListParams, isOver: boolean) {
  return queryOptions({
    queryKey: [...keys.one(tenant, id), "jobs", params],
    queryFn: ({ signal }) =>
      api<JobActionResults>(`/jobs/actions/${id}/jobs${queryString({ limit: 50, ...params })}`, { tenant, signal }),
    refetchInterval: isOver ? false : 2 * WHILE_OPEN_MS,
  });
}

interface ActionWords {
  /** In a menu and as a title: "Pause". */
  readonly order: string;
  /** Before a number of jobs: "Change the priority of". */
  readonly verb: string;
  /** Describes the jobs afterwards: "paused". */
  readonly done: string;
}

/** The words for each action in the UI. */
export const ACTION_WORDS: Readonly<Record<BulkAction, ActionWords>> = {
  cancel: { order: "Cancel", verb: "Cancel", done: "canceled" },
  retry: { order: "Retry", verb: "Retry", done: "queued again" },
  redrive: { order: "Put back dead letters", verb: "Put back", done: "put back" },
  pause: { order: "Pause", verb: "Pause", done: "paused" },
  resume: { order: "Resume", verb: "Resume", done: "resumed" },
  set_priority: { order: "Change priority", verb: "Change the priority of", done: "given another priority" },
  reschedule: { order: "Reschedule", verb: "Reschedule", done: "given another time" },
};
