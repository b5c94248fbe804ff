import { queryOptions } from "@tanstack/react-query";
import type { WorkerList } from "@/lib/contract";
import { api } from "./http";

export function workersOptions() {
  return queryOptions({
    queryKey: ["platform", "workers"],
    queryFn: ({ signal }) => api<WorkerList>("/admin/workers", { signal }),
  });
}
