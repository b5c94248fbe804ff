import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type {
  CreateWebhook,
  JobUpdate,
  Pagination,
  UpdateWebhook,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from "@/lib/contract";
import { useIntentKey } from "./forms/use-intent-key";
import { api } from "./http";
import { queryString } from "./query-string";

export const webhookKeys = {
  all: (tenant: string) => ["tenant", tenant, "webhooks"] as const,
  one: (tenant: string, id: string) => [...webhookKeys.all(tenant), "one", id] as const,
};

export interface DeliveryRows {
  readonly data: readonly WebhookDelivery[];
  readonly pagination: Pagination;
}

/** Returns true for a change of a delivery job. No other job changes what the webhook pages show. */
export const isDelivery = ({ definition_key: key }: Pick<JobUpdate, "definition_key">): boolean =>
  key === "deliver-webhook";

export function webhooksOptions(tenant: string) {
  return queryOptions({
    queryKey: [...webhookKeys.all(tenant), "list"],
    queryFn: ({ signal }) => api<{ data: WebhookEndpoint[] }>("/webhooks", { tenant, signal }),
  });
}

export function webhookOptions(tenant: string, id: string) {
  return queryOptions({
    queryKey: webhookKeys.one(tenant, id),
    queryFn: ({ signal }) => api<WebhookEndpoint>(`/webhooks/${id}`, { tenant, signal }),
  });
}

export interface DeliveryListParams {
  readonly id: string;
  readonly outcome: "delivered" | "failed" | null;
  readonly cursor: string | null;
}

export function deliveriesOptions(tenant: string, { id, outcome, cursor }: DeliveryListParams) {
  const query = queryString({ limit: 25, outcome, cursor });
  return queryOptions({
    queryKey: [...webhookKeys.one(tenant, id), "deliveries", query],
    queryFn: ({ signal }) => api<DeliveryRows>(`/webhooks/${id}/deliveries${query}`, { tenant, signal }),
  });
}

/** An action on an endpoint. Afterwards, all queries of endpoints are refetched. */
export type WebhookAction =
  | { readonly action: "create"; readonly body: CreateWebhook }
  | { readonly action: "change"; readonly endpoint: WebhookEndpoint; readonly body: UpdateWebhook }
  | { readonly action: "delete" | "rotate" | "test"; readonly endpoint: WebhookEndpoint }
  | { readonly action: "resend"; readonly delivery: WebhookDelivery };

/** Runs actions on endpoints. A created or rotated endpoint is returned with its secret. */
export function useWebhookAction(tenant: string) {
  const client = useQueryClient();
  // A message that is sent again after a lost answer is sent once.
  const { keyFor, forget, forgetRefused } = useIntentKey();
  return useMutation({
    mutationFn: (wanted: WebhookAction) => send(tenant, wanted, keyFor),
    onSuccess: forget,
    onError: forgetRefused,
    onSettled: () => void client.invalidateQueries({ queryKey: webhookKeys.all(tenant) }),
  });
}

type Sent = Partial<WebhookEndpointWithSecret> & { readonly job_id?: string };

function send(tenant: string, wanted: WebhookAction, keyFor: (content: unknown) => string): Promise<Sent> {
  const post = (path: string, body: unknown = {}) =>
    api<Sent>(`/webhooks${path}`, { tenant, method: "POST", body, idempotencyKey: keyFor([path, body]) });
  switch (wanted.action) {
    case "create":
      return post("", wanted.body);
    case "change":
      return api<Sent>(`/webhooks/${wanted.endpoint.id}`, {
        tenant,
        method: "PATCH",
        body: wanted.body,
        ifMatch: `"${wanted.endpoint.version}"`,
      });
    case "delete":
      return api<Sent>(`/webhooks/${wanted.endpoint.id}`, { tenant, method: "DELETE" });
    case "rotate":
      return post(`/${wanted.endpoint.id}/rotate-secret`);
    case "test":
      return post(`/${wanted.endpoint.id}/test`);
    case "resend":
      return post(`/${wanted.delivery.endpoint_id}/deliveries/${wanted.delivery.id}/resend`);
  }
}
