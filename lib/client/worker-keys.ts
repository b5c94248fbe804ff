import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type * as z from "zod";
import type { createWorkerKey, Definition, newWorkerKey, WorkerKey } from "@/lib/contract";
import { api } from "./http";

const KEYS = ["platform", "worker-keys"] as const;

export function workerKeysOptions() {
  return queryOptions({
    queryKey: KEYS,
    queryFn: ({ signal }) => api<{ data: WorkerKey[] }>("/admin/worker-keys", { signal }),
  });
}

/** The definitions that remote workers can run. */
export function remoteDefinitionsOptions() {
  return queryOptions({
    queryKey: ["platform", "definitions", "remote"],
    queryFn: async ({ signal }) => {
      const { data } = await api<{ data: Definition[] }>("/admin/jobs/definitions", { signal });
      return data.filter(({ executor }) => executor === "remote");
    },
  });
}

export function useCreateWorkerKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: z.input<typeof createWorkerKey>) =>
      api<z.infer<typeof newWorkerKey>>("/admin/worker-keys", { method: "POST", body }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS }),
  });
}

export function useRevokeWorkerKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => api<WorkerKey>(`/admin/worker-keys/${id}`, { method: "DELETE" }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS }),
  });
}
