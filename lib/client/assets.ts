import { queryOptions } from "@tanstack/react-query";
import type { AssetList, ImportedLists, TenantProvider } from "@/lib/contract";
import { api } from "./http";
import { queryString } from "./query-string";

export const assetKeys = {
  all: (tenant: string) => ["tenant", tenant, "assets"] as const,
};

export const importedListsKey = (tenant: string) => ["tenant", tenant, "lists"] as const;

/** The folders registered for the tenant. */
export function providersOptions(tenant: string) {
  return queryOptions({
    queryKey: ["tenant", tenant, "providers"],
    queryFn: ({ signal }) => api<{ data: TenantProvider[] }>("/providers", { tenant, signal }),
    staleTime: 30_000,
  });
}

/** The newest lists filled by imports. */
export function importedListsOptions(tenant: string) {
  return queryOptions({
    queryKey: importedListsKey(tenant),
    queryFn: ({ signal }) => api<ImportedLists>("/lists?limit=50", { tenant, signal }),
  });
}

export function assetsOptions(tenant: string, filters: { provider: string | null; cursor: string | null }) {
  return queryOptions({
    queryKey: [...assetKeys.all(tenant), filters],
    queryFn: ({ signal }) =>
      api<AssetList>(`/assets${queryString({ limit: 50, provider_id: filters.provider, cursor: filters.cursor })}`, {
        tenant,
        signal,
      }),
  });
}
