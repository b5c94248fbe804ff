import { and, desc, eq, isNotNull, isNull, lt, sql } from "drizzle-orm";
import { webhookDeliveries } from "@/drizzle/schema";
import type { DeliveryError, WebhookDelivery } from "@/lib/contract";
import {
  columnsOf,
  countRows,
  type Database,
  ofTenant,
  type RowCount,
  type TenantTransaction,
  withTenant,
} from "@/lib/db";
import { headersContext, secretContext } from "./endpoints";
import type { Sealer } from "./seal";
import {
  auditDisabledSql,
  deliveryWithPayloadSql,
  findDeliverySql,
  insertDeliverySql,
  noteFailureSql,
  noteSuccessSql,
} from "./webhooks.sql";

/** An endpoint with its secrets in the clear, for the worker that delivers. Never show it. */
export interface DeliveryContext {
  readonly queuedAt: Date;
  /** Null for a job that was not made by a schedule. */
  readonly fired: { readonly triggerId: string; readonly at: Date } | null;
  readonly endpoint: {
    readonly url: string;
    readonly isEnabled: boolean;
    readonly eventTypes: readonly string[] | null;
    /** Newest first. */
    readonly secrets: readonly string[];
    readonly headers: Readonly<Record<string, string>>;
  } | null;
  /** True if this message was sent to the endpoint before, so that it is sent again. */
  readonly wasSent: boolean;
}

interface SealedEndpointRow {
  queued_at: Date;
  fired_by: string | null;
  fired_at: string | null;
  endpoint_id: string | null;
  url: string;
  event_types: string[] | null;
  is_enabled: boolean;
  secret: Buffer;
  earlier_secrets: Buffer[];
  was_sent: boolean;
  headers: Buffer | null;
}

/** Returns the endpoint for a job's message; null when the job does not exist. @throws UnsealError */
export async function findDeliveryContext(
  db: Database,
  sealer: Sealer,
  job: {
    readonly tenantId: string;
    readonly jobId: string;
    readonly endpointId: string;
    readonly type: string;
    /** Set when an earlier message is sent again. */
    readonly messageId: string | undefined;
  },
): Promise<DeliveryContext | null> {
  const { tenantId, jobId, endpointId } = job;
  const [row] = await withTenant(db, tenantId, (tx) =>
    tx.run<SealedEndpointRow>(findDeliverySql, [tenantId, jobId, endpointId, job.messageId ?? null, job.type]),
  );
  if (!row) return null;
  const fired = firedInstant(row);
  if (row.endpoint_id === null) return { queuedAt: row.queued_at, fired, endpoint: null, wasSent: false };
  const sealed = [row.secret, ...row.earlier_secrets];
  const headers = row.headers ? JSON.parse(sealer.open(row.headers, headersContext(tenantId, endpointId))) : {};
  return {
    queuedAt: row.queued_at,
    fired,
    endpoint: {
      url: row.url,
      isEnabled: row.is_enabled,
      eventTypes: row.event_types,
      secrets: sealed.map((secret) => sealer.open(secret, secretContext(tenantId, endpointId))),
      headers,
    },
    wasSent: row.was_sent,
  };
}

function firedInstant({ fired_by: triggerId, fired_at }: SealedEndpointRow): DeliveryContext["fired"] {
  const at = new Date(fired_at ?? "");
  return triggerId !== null && !Number.isNaN(at.getTime()) ? { triggerId, at } : null;
}

/** The record of one attempt; its texts contain no secrets and are short enough. */
export interface DeliveryRecord {
  readonly tenantId: string;
  readonly endpointId: string;
  readonly jobId: string;
  readonly attemptNo: number;
  readonly messageId: string;
  readonly type: string;
  readonly url: string;
  readonly statusCode: number | null;
  readonly failed: { readonly code: DeliveryError; readonly detail: string } | null;
  readonly request: string;
  readonly response: string | null;
  readonly durationMs: number;
  /** The receiver wants no further messages (410). */
  readonly isGone: boolean;
}

/**
 * Records an attempt, and disables an endpoint that is gone or has failed for five days; that is audited. Returns why
 * the endpoint was disabled, else null.
 */
export function recordDelivery(db: Database, made: DeliveryRecord): Promise<"gone" | "failing" | null> {
  const { tenantId, endpointId, failed } = made;
  return withTenant(db, tenantId, async (tx) => {
    await tx.run(insertDeliverySql, [
      tenantId,
      endpointId,
      made.jobId,
      made.attemptNo,
      made.messageId,
      made.type,
      made.url,
      statusOf(made.statusCode),
      failed?.code ?? null,
      failed?.detail ?? null,
      made.request,
      made.response,
      made.durationMs,
    ]);
    // A delivery that was stopped here says nothing about the receiver.
    if (failed?.code === "stopped") return null;
    if (failed === null) await tx.run(noteSuccessSql, [tenantId, endpointId]);
    return failed === null ? null : noteFailure(tx, endpointId, made.isGone);
  });
}

/**
 * Returns a valid HTTP status, else null: receivers may send any three digits. The error still names an invalid one.
 */
const statusOf = (code: number | null): number | null => (code !== null && code >= 100 && code <= 599 ? code : null);

async function noteFailure(
  tx: TenantTransaction,
  endpointId: string,
  isGone: boolean,
): Promise<"gone" | "failing" | null> {
  const [noted] = await tx.run<{ reason: "gone" | "failing" | null }>(noteFailureSql, [
    tx.tenantId,
    endpointId,
    isGone,
  ]);
  const reason = noted?.reason ?? null;
  if (reason !== null) await tx.run(auditDisabledSql, [tx.tenantId, endpointId, reason]);
  return reason;
}

const DELIVERY = {
  ...columnsOf(webhookDeliveries, "id", "endpoint_id", "job_id", "attempt_no", "message_id", "type", "url"),
  ...columnsOf(webhookDeliveries, "status_code", "error_text", "request", "response", "duration_ms", "started_at"),
  error_code: sql<WebhookDelivery["error_code"]>`${webhookDeliveries.error_code}`,
};

export interface DeliveryPage extends RowCount {
  readonly rows: readonly WebhookDelivery[];
  readonly hasMore: boolean;
}

export interface DeliveryQuery {
  readonly endpointId: string;
  readonly failed?: boolean | undefined;
  readonly jobId?: string | undefined;
  readonly limit: number;
  readonly offset?: number;
  /** The last id of the previous page; ids descend. */
  readonly afterId?: string;
}

/** Lists the attempts to deliver to an endpoint, newest first. */
export async function listDeliveries(tx: TenantTransaction, query: DeliveryQuery): Promise<DeliveryPage> {
  const { failed, afterId } = query;
  const { tenant_id, endpoint_id, job_id, error_code, id } = webhookDeliveries;
  const matches = and(
    ofTenant(tenant_id, tx.tenantId),
    eq(endpoint_id, query.endpointId),
    failed === undefined ? undefined : failed ? isNotNull(error_code) : isNull(error_code),
    query.jobId === undefined ? undefined : eq(job_id, query.jobId),
  );
  const rows = await tx.orm
    .select(DELIVERY)
    .from(webhookDeliveries)
    .where(afterId === undefined ? matches : and(matches, lt(id, afterId)))
    .orderBy(desc(id))
    .limit(query.limit + 1)
    .offset(query.offset ?? 0);
  return {
    rows: rows.slice(0, query.limit),
    hasMore: rows.length > query.limit,
    ...(await countRows(tx, webhookDeliveries, matches)),
  };
}

/** What a delivery sent. `payload` is null when its job has been deleted. */
export interface SentMessage {
  readonly messageId: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly queuedAt: Date | null;
  readonly definitionKey: string | null;
}

export async function findSentMessage(
  tx: TenantTransaction,
  { endpointId, deliveryId }: { readonly endpointId: string; readonly deliveryId: string },
): Promise<SentMessage | null> {
  const [row] = await tx.run<{
    message_id: string;
    payload: Record<string, unknown> | null;
    queued_at: Date | null;
    definition_key: string | null;
  }>(deliveryWithPayloadSql, [tx.tenantId, endpointId, deliveryId]);
  if (!row) return null;
  return {
    messageId: row.message_id,
    payload: row.payload,
    queuedAt: row.queued_at,
    definitionKey: row.definition_key,
  };
}
