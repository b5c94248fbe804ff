import type { WebhookEndpoint } from "@/lib/contract";
import type { TenantTransaction } from "@/lib/db";
import type { Sealer } from "./seal";
import {
  countEndpointsSql,
  deleteEndpointSql,
  endpointByIdSql,
  insertEndpointSql,
  listEndpointsSql,
  lockEndpointSql,
  newEndpointIdSql,
  rotateSecretSql,
  sealedSecretSql,
  setHeadersSql,
  updateEndpointSql,
} from "./webhooks.sql";

export const MOST_ENDPOINTS = 100;

interface EndpointRow {
  id: string;
  tenant_id: string;
  url: string;
  description: string;
  event_types: string[] | null;
  is_enabled: boolean;
  disabled_reason: WebhookEndpoint["disabled_reason"];
  header_names: string[];
  previous_secret_until: Date | null;
  failing_since: Date | null;
  version: number;
  created_by: string | null;
  created_at: Date;
  updated_at: Date;
  delivery_id: string | null;
  delivery_status: number | null;
  delivery_error: NonNullable<WebhookEndpoint["last_delivery"]>["error_code"];
  delivery_at: Date | null;
}

/** The settings of an endpoint, validated by the caller. */
export interface EndpointSettings {
  readonly url: string;
  readonly description: string;
  readonly eventTypes: readonly string[] | null;
  readonly isEnabled: boolean;
}

/** A change; properties that are left out stay. Headers replace all earlier ones. */
export type EndpointChange = Partial<EndpointSettings> & { readonly headers?: Readonly<Record<string, string>> };

type New = EndpointSettings & {
  readonly headers: Readonly<Record<string, string>>;
  readonly secret: string;
  readonly createdBy: string | null;
};

/** The context of a sealed value: one that is copied to another endpoint or column does not open. */
export const secretPlace = (tenantId: string, endpointId: string): string => `webhook-secret|${tenantId}|${endpointId}`;
export const headersPlace = (tenantId: string, endpointId: string): string =>
  `webhook-headers|${tenantId}|${endpointId}`;

/** Lists the tenant's endpoints, newest first, without secrets. */
export async function listEndpoints(tx: TenantTransaction): Promise<WebhookEndpoint[]> {
  return (await tx.run<EndpointRow>(listEndpointsSql, [tx.tenantId])).map(toEndpoint);
}

/** Returns an endpoint, or null when the tenant does not have it. */
export async function findEndpoint(tx: TenantTransaction, id: string): Promise<WebhookEndpoint | null> {
  const [row] = await tx.run<EndpointRow>(endpointByIdSql, [tx.tenantId, id]);
  return row ? toEndpoint(row) : null;
}

/** Creates an endpoint. Returns null when the tenant has reached the limit (`MOST_ENDPOINTS`). */
export async function insertEndpoint(
  tx: TenantTransaction,
  sealer: Sealer,
  made: New,
): Promise<WebhookEndpoint | null> {
  const [counted] = await tx.run<{ n: number }>(countEndpointsSql, [tx.tenantId]);
  if ((counted?.n ?? 0) >= MOST_ENDPOINTS) return null;
  const [{ id } = { id: "" }] = await tx.run<{ id: string }>(newEndpointIdSql);
  await tx.run(insertEndpointSql, [
    tx.tenantId,
    id,
    made.url,
    made.description,
    made.eventTypes,
    made.isEnabled,
    sealer.seal(made.secret, secretPlace(tx.tenantId, id)),
    ...sealedHeaders(sealer, made.headers, headersPlace(tx.tenantId, id)),
    made.createdBy,
  ]);
  return findEndpoint(tx, id);
}

/** Returns an endpoint and locks its row until the end of the transaction; null when it does not exist. */
export async function lockEndpoint(tx: TenantTransaction, id: string): Promise<WebhookEndpoint | null> {
  const [row] = await tx.run(lockEndpointSql, [tx.tenantId, id]);
  return row ? findEndpoint(tx, id) : null;
}

/**
 * Changes an endpoint that the caller has locked. An endpoint that moves to another origin loses its headers unless new
 * ones are given: they may hold credentials that the editor was never shown.
 */
export async function updateEndpoint(
  tx: TenantTransaction,
  sealer: Sealer,
  { current, change }: { readonly current: WebhookEndpoint; readonly change: EndpointChange },
): Promise<WebhookEndpoint> {
  await tx.run(updateEndpointSql, [
    tx.tenantId,
    current.id,
    change.url ?? current.url,
    change.description ?? current.description,
    change.eventTypes === undefined ? current.event_types : change.eventTypes,
    change.isEnabled ?? current.is_enabled,
  ]);
  const headers = change.headers ?? (isElsewhere(current.url, change.url) ? {} : undefined);
  if (headers) {
    const sealed = sealedHeaders(sealer, headers, headersPlace(tx.tenantId, current.id));
    await tx.run(setHeadersSql, [tx.tenantId, current.id, ...sealed]);
  }
  return (await findEndpoint(tx, current.id)) ?? current;
}

const isElsewhere = (from: string, to: string | undefined): boolean =>
  to !== undefined && new URL(to).origin !== new URL(from).origin;

/**
 * Gives an endpoint a new secret; each earlier secret stays valid for a day after it was replaced. Returns null when
 * the endpoint does not exist, and "too-often" when three earlier secrets are still valid.
 */
export async function rotateSecret(
  tx: TenantTransaction,
  sealer: Sealer,
  { id, secret }: { readonly id: string; readonly secret: string },
): Promise<WebhookEndpoint | null | "too-often"> {
  const [row] = await tx.run<{ secret: Buffer }>(sealedSecretSql, [tx.tenantId, id]);
  if (!row) return null;
  const sealed = sealer.seal(secret, secretPlace(tx.tenantId, id));
  const rotated = await tx.run(rotateSecretSql, [tx.tenantId, id, sealed, row.secret]);
  return rotated.length === 0 ? "too-often" : findEndpoint(tx, id);
}

/** Deletes an endpoint that the caller has locked. */
export async function deleteEndpoint(tx: TenantTransaction, id: string): Promise<void> {
  await tx.run(deleteEndpointSql, [tx.tenantId, id]);
}

/** Returns the values of the columns headers and header_names. */
function sealedHeaders(
  sealer: Sealer,
  headers: Readonly<Record<string, string>>,
  place: string,
): [Buffer | null, string[]] {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const names = Object.keys(lower).toSorted();
  return [names.length === 0 ? null : sealer.seal(JSON.stringify(lower), place), names];
}

function toEndpoint(row: EndpointRow): WebhookEndpoint {
  const { delivery_id, delivery_status, delivery_error, delivery_at, ...endpoint } = row;
  return {
    ...endpoint,
    previous_secret_until: row.previous_secret_until?.toISOString() ?? null,
    failing_since: row.failing_since?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    last_delivery:
      delivery_id === null || delivery_at === null
        ? null
        : {
            id: delivery_id,
            status_code: delivery_status,
            error_code: delivery_error,
            started_at: delivery_at.toISOString(),
          },
  };
}
