import { and, count, desc, eq, isNull, sql } from "drizzle-orm";
import { webhookDeliveries, webhookEndpoints } from "@/drizzle/schema";
import type { WebhookEndpoint } from "@/lib/contract";
import { columnsOf, ofTenant, type TenantTransaction } from "@/lib/db";
import type { Sealer } from "./seal";
import { rotateSecretSql, sealedSecretSql } from "./webhooks.sql";

export const MOST_ENDPOINTS = 100;
const LISTED = 1000;

/** The settings of an endpoint, validated by the caller. */
export type EndpointSettings = Pick<WebhookEndpoint, "url" | "description" | "event_types" | "is_enabled">;
type LastDelivery = NonNullable<WebhookEndpoint["last_delivery"]>;
type Headers = Readonly<Record<string, string>>;

/** A change; properties that are left out stay. Headers replace all earlier ones. */
export type EndpointChange = Partial<EndpointSettings> & { readonly headers?: Headers };

type New = EndpointSettings & {
  readonly headers: Headers;
  readonly secret: string;
  readonly created_by: string | null;
};

/** The context of a sealed value: one that is copied to another endpoint or column does not open. */
export const secretContext = (tenantId: string, endpointId: string): string =>
  `webhook-secret|${tenantId}|${endpointId}`;
export const headersContext = (tenantId: string, endpointId: string): string =>
  `webhook-headers|${tenantId}|${endpointId}`;

// Without the sealed columns, so that no answer of the API can contain them.
const ENDPOINT = {
  ...columnsOf(webhookEndpoints, "id", "tenant_id", "url", "description", "event_types", "is_enabled", "header_names"),
  ...columnsOf(webhookEndpoints, "failing_since", "version", "created_by", "created_at", "updated_at"),
  disabled_reason: sql<WebhookEndpoint["disabled_reason"]>`${webhookEndpoints.disabled_reason}`,
  previous_secret_until: sql<string | null>`case when ${webhookEndpoints.previous_secret_until} > app.now()
    then ${webhookEndpoints.previous_secret_until} end`.mapWith(webhookEndpoints.previous_secret_until),
};

/** True for the tenant's endpoints that are not deleted, or for one of them. */
const isThere = ({ tenantId }: TenantTransaction, id?: string) =>
  and(
    ofTenant(webhookEndpoints.tenant_id, tenantId),
    isNull(webhookEndpoints.deleted_at),
    id === undefined ? undefined : eq(webhookEndpoints.id, id),
  );

/** Lists the tenant's endpoints, newest first, without secrets. */
export const listEndpoints = (tx: TenantTransaction): Promise<WebhookEndpoint[]> => read(tx);

/** Returns an endpoint, or null when the tenant does not have it. */
export async function findEndpoint(tx: TenantTransaction, id: string): Promise<WebhookEndpoint | null> {
  return (await read(tx, id))[0] ?? null;
}

async function read(tx: TenantTransaction, id?: string): Promise<WebhookEndpoint[]> {
  const last = tx.orm
    .select(columnsOf(webhookDeliveries, "id", "status_code", "error_code", "started_at"))
    .from(webhookDeliveries)
    .where(
      and(ofTenant(webhookDeliveries.tenant_id, tx.tenantId), eq(webhookDeliveries.endpoint_id, webhookEndpoints.id)),
    )
    .orderBy(desc(webhookDeliveries.id))
    .limit(1)
    .as("last");
  const rows = await tx.orm
    .select({
      endpoint: ENDPOINT,
      delivery: {
        id: last.id,
        status_code: last.status_code,
        error_code: sql<LastDelivery["error_code"]>`${last.error_code}`,
        started_at: last.started_at,
      },
    })
    .from(webhookEndpoints)
    .leftJoinLateral(last, sql`true`)
    .where(isThere(tx, id))
    .orderBy(desc(webhookEndpoints.id))
    .limit(LISTED);
  // An endpoint without deliveries has nulls here.
  return rows.map(({ endpoint, delivery }) => ({ ...endpoint, last_delivery: delivery?.id ? delivery : null }));
}

/** Creates an endpoint. Returns null when the tenant has reached the limit (`MOST_ENDPOINTS`). */
export async function insertEndpoint(
  tx: TenantTransaction,
  sealer: Sealer,
  { headers, secret, ...settings }: New,
): Promise<WebhookEndpoint | null> {
  const [{ n } = { n: 0 }] = await tx.orm.select({ n: count() }).from(webhookEndpoints).where(isThere(tx));
  if (n >= MOST_ENDPOINTS) return null;
  // The sealed values are bound to the id, so it is made first.
  const { rows } = await tx.orm.execute<{ id: string }>(sql`select app.new_id() as id`);
  const id = rows[0]?.id ?? "";
  await tx.orm.insert(webhookEndpoints).values({
    ...settings,
    tenant_id: tx.tenantId,
    id,
    disabled_reason: settings.is_enabled ? null : "manual",
    secret: sealer.seal(secret, secretContext(tx.tenantId, id)),
    ...sealedHeaders(sealer, headers, headersContext(tx.tenantId, id)),
  });
  return findEndpoint(tx, id);
}

/** Returns an endpoint and locks its row until the end of the transaction; null when it does not exist. */
export async function lockEndpoint(tx: TenantTransaction, id: string): Promise<WebhookEndpoint | null> {
  const columns = columnsOf(webhookEndpoints, "id");
  const [locked] = await tx.orm.select(columns).from(webhookEndpoints).where(isThere(tx, id)).for("update");
  return locked ? findEndpoint(tx, id) : null;
}

/**
 * Changes an endpoint that the caller has locked. An endpoint that moves to another origin loses its headers unless new
 * ones are given: they may hold credentials that the editor was never shown. Enabling an endpoint clears its failures;
 * disabling a disabled one keeps the reason.
 */
export async function updateEndpoint(
  tx: TenantTransaction,
  sealer: Sealer,
  { current, change }: { readonly current: WebhookEndpoint; readonly change: EndpointChange },
): Promise<WebhookEndpoint> {
  const { headers: given, ...settings } = change;
  const isEnabled = change.is_enabled ?? current.is_enabled;
  const headers = given ?? (isElsewhere(current.url, change.url) ? {} : undefined);
  await tx.orm
    .update(webhookEndpoints)
    .set({
      ...settings,
      disabled_reason: isEnabled ? null : (current.disabled_reason ?? "manual"),
      ...(isEnabled && !current.is_enabled ? { failing_since: null } : {}),
      ...(headers ? sealedHeaders(sealer, headers, headersContext(tx.tenantId, current.id)) : {}),
      ...NEXT_VERSION,
    })
    .where(isThere(tx, current.id));
  return (await findEndpoint(tx, current.id)) ?? current;
}

const NEXT_VERSION = { version: sql`${webhookEndpoints.version} + 1`, updated_at: sql`app.now()` };

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
  const sealed = sealer.seal(secret, secretContext(tx.tenantId, id));
  const rotated = await tx.run(rotateSecretSql, [tx.tenantId, id, sealed, row.secret]);
  return rotated.length === 0 ? "too-often" : findEndpoint(tx, id);
}

/**
 * Deletes an endpoint that the caller has locked. Its secrets are deleted at once; the row stays for the deliveries
 * that refer to it.
 */
export async function deleteEndpoint(tx: TenantTransaction, id: string): Promise<void> {
  await tx.orm
    .update(webhookEndpoints)
    .set({
      deleted_at: sql`app.now()`,
      secret: null,
      previous_secret: null,
      previous_secret_until: null,
      older_secrets: [],
      older_secrets_until: [],
      headers: null,
      header_names: [],
      is_enabled: false,
      disabled_reason: sql`coalesce(${webhookEndpoints.disabled_reason}, 'manual')`,
      ...NEXT_VERSION,
    })
    .where(isThere(tx, id));
}

/** Returns the values of the columns headers and header_names. */
function sealedHeaders(
  sealer: Sealer,
  headers: Headers,
  context: string,
): { headers: Buffer | null; header_names: string[] } {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const header_names = Object.keys(lower).toSorted();
  return { headers: header_names.length === 0 ? null : sealer.seal(JSON.stringify(lower), context), header_names };
}
