/*
 * Triggers and events in the browser: queries and mutations, and the forms of triggers and payloads as plain data. A
 * change or deletion of a trigger sends the version that it is based on, so it never overwrites a newer one. A request
 * that creates, runs, publishes or replays takes effect once, however often it is sent under the same key.
 *
 * Start with `triggerKeys` below, then `events.ts`, `trigger-form.ts` and `schema-form.ts`.
 */

import { keepPreviousData, type QueryClient, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type {
  CreateTrigger,
  FiringList,
  PreviewTrigger,
  RunTrigger,
  TestTriggers,
  Trigger,
  TriggerList,
  TriggerPreview,
  TriggerRun,
  TriggerTests,
  UpdateTrigger,
} from "@/lib/contract";
import type { FiringOutcome } from "@/lib/queue/states";
import { api } from "../http";
import { queryString } from "../query-string";

const TRIGGERS_PER_PAGE = 50;
const FIRINGS_PER_PAGE = 25;

export const triggerKeys = {
  all: (tenant: string) => ["tenant", tenant, "triggers"] as const,
  lists: (tenant: string) => [...triggerKeys.all(tenant), "list"] as const,
  one: (tenant: string, id: string) => [...triggerKeys.all(tenant), "one", id] as const,
  firings: (tenant: string, id: string) => [...triggerKeys.one(tenant, id), "firings"] as const,
};

export interface TriggerListParams {
  readonly kind: Trigger["trigger_type"] | null;
  readonly q: string | null;
  readonly cursor: string | null;
}

export function triggersOptions(tenant: string, { kind, q, cursor }: TriggerListParams) {
  const query = queryString({ limit: TRIGGERS_PER_PAGE, trigger_type: kind, q: q?.trim(), cursor });
  return queryOptions({
    queryKey: [...triggerKeys.lists(tenant), query],
    queryFn: ({ signal }) => api<TriggerList>(`/jobs/triggers${query}`, { tenant, signal }),
    placeholderData: keepPreviousData,
  });
}

export function triggerOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: triggerKeys.one(tenant, id),
    queryFn: ({ signal }) => api<Trigger>(`/jobs/triggers/${id}`, { tenant, signal }),
  });
}

export interface FiringListParams {
  readonly outcome: FiringOutcome | null;
  readonly cursor: string | null;
}

export function firingsOptions(tenant: string, id: string, { outcome, cursor }: FiringListParams) {
  const query = queryString({ limit: FIRINGS_PER_PAGE, outcome, cursor });
  return queryOptions({
    queryKey: [...triggerKeys.firings(tenant, id), query],
    queryFn: ({ signal }) => api<FiringList>(`/jobs/triggers/${id}/firings${query}`, { tenant, signal }),
    placeholderData: keepPreviousData,
  });
}

/** What a schedule would do. The same schedule is cached for a minute. */
export function triggerPreviewOptions(tenant: string, body: PreviewTrigger) {
  return queryOptions({
    queryKey: ["tenant", tenant, "trigger-preview", body],
    queryFn: ({ signal }) => api<TriggerPreview>("/jobs/triggers/preview", { tenant, method: "POST", body, signal }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
}

/** The tested trigger: a stored one, or one that is being composed. */
export type TestTarget = Pick<TestTriggers, "trigger_id" | "draft">;

/** What an event would do with triggers. Nothing is written. */
export function testOptions(tenant: string, body: TestTriggers) {
  return queryOptions({
    queryKey: ["tenant", tenant, "trigger-test", body],
    queryFn: ({ signal }) => api<TriggerTests>("/jobs/triggers/test", { tenant, method: "POST", body, signal }),
    placeholderData: keepPreviousData,
    staleTime: 0,
    retry: false,
  });
}

const etagOf = (version: number): string => `"${version}"`;

export function useCreateTrigger(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: CreateTrigger; key: string }) =>
      api<Trigger>("/jobs/triggers", { tenant, method: "POST", body, idempotencyKey: key }),
    onSuccess: () => refresh(client, tenant),
  });
}

/** Changes a trigger, unless it was changed since `version`. */
export function useUpdateTrigger(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, version, patch }: { id: string; version: number; patch: UpdateTrigger }) =>
      api<Trigger>(`/jobs/triggers/${id}`, { tenant, method: "PATCH", body: patch, ifMatch: etagOf(version) }),
    onSuccess: (trigger) => client.setQueryData(triggerKeys.one(tenant, trigger.id), trigger),
    onSettled: () => refresh(client, tenant),
  });
}

/** Enables or disables a trigger. The switch moves at once, and back when the change is refused. */
export function useSwitchTrigger(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ trigger, on }: { trigger: Trigger; on: boolean }) =>
      api<Trigger>(`/jobs/triggers/${trigger.id}`, {
        tenant,
        method: "PATCH",
        body: { is_enabled: on } satisfies UpdateTrigger,
        ifMatch: etagOf(trigger.version),
      }),
    onMutate: async ({ trigger, on }) => {
      await client.cancelQueries({ queryKey: triggerKeys.all(tenant) });
      show(client, tenant, { ...trigger, is_enabled: on });
    },
    onSuccess: (trigger) => show(client, tenant, trigger),
    onError: (_error, { trigger }) => show(client, tenant, trigger),
    onSettled: () => refresh(client, tenant),
  });
}

function show(client: QueryClient, tenant: string, trigger: Trigger): void {
  client.setQueriesData<TriggerList>({ queryKey: triggerKeys.lists(tenant) }, (list) =>
    list ? { ...list, data: list.data.map((row) => (row.id === trigger.id ? trigger : row)) } : list,
  );
  if (client.getQueryData(triggerKeys.one(tenant, trigger.id)))
    client.setQueryData(triggerKeys.one(tenant, trigger.id), trigger);
}

export function useDeleteTrigger(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, version }: { id: string; version: number }) =>
      api<Trigger>(`/jobs/triggers/${id}`, { tenant, method: "DELETE", ifMatch: etagOf(version) }),
    onSettled: () => void client.invalidateQueries({ queryKey: triggerKeys.lists(tenant) }),
  });
}

/** Runs a trigger now. The same key sent twice creates one job. */
export function useRunTrigger(tenant: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, body, key }: { id: string; body: RunTrigger; key: string }) =>
      api<TriggerRun>(`/jobs/triggers/${id}/run`, { tenant, method: "POST", body, idempotencyKey: key }),
    onSuccess: () => refresh(client, tenant),
  });
}

const refresh = (client: QueryClient, tenant: string): void =>
  void client.invalidateQueries({ queryKey: triggerKeys.all(tenant) });
