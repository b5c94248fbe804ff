import { CountedSlots } from "@/lib/async/slots";
import { writeAudit } from "@/lib/auth/audit";
import {
  type CreateWebhook,
  escapeToken,
  type ProblemError,
  type UpdateWebhook,
  type WebhookEndpoint,
} from "@/lib/contract";
import { type Database, type TenantTransaction, withTenant } from "@/lib/db";
import { enqueueJob } from "@/lib/queue";
import type { Actor, TenantScope } from "@/lib/queue/types";
import { checkTarget, headerProblems, type TargetRefusal } from "@/lib/webhooks/delivery";
import { type EndpointChange, lockEndpoint, MOST_ENDPOINTS } from "@/lib/webhooks/endpoints";
import { expectedVersions } from "../http/etag";
import { HttpProblem, notFound } from "../http/problem";
import type { RequestInfo } from "../http/request-info";
import type { ApiRuntime } from "../runtime";
import { chainDepthOfJob } from "./chain";
import { defined } from "./filters";

const DELIVER = "deliver-webhook";

export interface WebhookContext {
  readonly db: Database | TenantTransaction;
  readonly scope: TenantScope;
  readonly actor: Actor;
  readonly info: RequestInfo;
  readonly runtime: ApiRuntime;
}

/**
 * Refuses forbidden addresses and forbidden headers. Queries name servers, which may take seconds, so never call it in
 * a transaction.
 * @throws HttpProblem 422; 429 while too many addresses of the tenant are being looked up
 */
export async function checkEndpoint({ runtime, scope, body }: EndpointCheck): Promise<void> {
  const errors: ProblemError[] = headerProblems(body.headers ?? {}).map(({ name, detail }) => ({
    pointer: name === "" ? "/headers" : `/headers/${escapeToken(name)}`,
    code: "header",
    detail,
  }));
  const refusal = body.url === undefined ? null : await lookedUp(scope, body.url, runtime);
  if (refusal !== null) errors.unshift({ pointer: "/url", code: refusal.code, detail: refusal.detail });
  if (errors.length > 0) throw new HttpProblem("validation-failed", { errors });
}

interface EndpointCheck {
  readonly runtime: ApiRuntime;
  readonly scope: TenantScope;
  readonly body: Partial<CreateWebhook> | UpdateWebhook;
}

/** Maximum number of concurrent address lookups per tenant in this process. */
const MOST_LOOKUPS = 5;
const lookups = new CountedSlots(MOST_LOOKUPS);

async function lookedUp({ tenantId }: TenantScope, url: string, { config }: ApiRuntime): Promise<TargetRefusal | null> {
  const release = lookups.take(tenantId);
  if (!release) {
    throw new HttpProblem("too-many-requests", {
      detail: `${MOST_LOOKUPS} addresses of this tenant are being looked up. Send the request again in a few seconds.`,
      headers: { "retry-after": "3" },
    });
  }
  return checkTarget(url, config.webhooks).finally(release);
}

/** Runs a change and writes its audit line in one transaction of the tenant, so neither exists without the other. */
export function auditedInTenant<T>(
  { db, scope, actor, info }: WebhookContext,
  action: string,
  work: (tx: TenantTransaction) => Promise<{ readonly objectId: string; readonly done: T }>,
): Promise<T> {
  return inTenantOf({ db, scope }, async (tx) => {
    const { objectId, done } = await work(tx);
    await writeAudit(tx, {
      tenantId: scope.tenantId,
      actorKind: actor.kind,
      actorId: actor.id,
      action,
      severity: "medium",
      objectKind: "webhook_endpoint",
      objectId,
      success: true,
      requestId: info.id,
      ip: info.ip,
      userAgent: info.userAgent,
    });
    return done;
  });
}

/** Reads or changes in a transaction of the tenant: the Idempotency-Key's transaction, if there is one. */
export function inTenantOf<T>(
  { db, scope }: Pick<WebhookContext, "db" | "scope">,
  work: (tx: TenantTransaction) => Promise<T>,
): Promise<T> {
  return "tenantId" in db ? work(db) : withTenant(db, scope.tenantId, work);
}

/** Locks and returns the endpoint, if its version is one that the client expects. @throws HttpProblem 404, 412 */
export async function lockedEndpoint(tx: TenantTransaction, id: string, info: RequestInfo): Promise<WebhookEndpoint> {
  const endpoint = await lockEndpoint(tx, id);
  if (!endpoint) throw notFound();
  const expected = expectedVersions(info.ifMatch);
  if (expected !== null && !expected.includes(endpoint.version)) throw new HttpProblem("precondition-failed");
  return endpoint;
}

/** Returns the fields that were sent. Headers that are sent as null are removed. */
export function endpointChange({ headers, ...settings }: UpdateWebhook): EndpointChange {
  return { ...defined(settings), ...(headers === undefined ? {} : { headers: headers ?? {} }) };
}

export const tooMany = (): HttpProblem =>
  new HttpProblem("conflict", { detail: `A tenant has at most ${MOST_ENDPOINTS} webhook endpoints.` });

/** A message to deliver. The last two fields are set when it was sent before. */
export interface OutgoingMessage {
  readonly endpoint_id: string;
  readonly type: string;
  readonly data: unknown;
  readonly message_id?: string;
  readonly timestamp?: string;
}

/**
 * Enqueues a message to an enabled endpoint.
 * @throws HttpProblem 409 when the endpoint is disabled or the chain of jobs is too deep
 */
export async function sendMessage(
  { db, scope, info, runtime }: Omit<WebhookContext, "actor">,
  endpoint: WebhookEndpoint,
  { message, definitionKey = DELIVER }: { readonly message: OutgoingMessage; readonly definitionKey?: string },
): Promise<{ job_id: string }> {
  if (!endpoint.is_enabled) {
    throw new HttpProblem("conflict", { detail: "The endpoint is disabled. Enable it first." });
  }
  const chainDepth = chainDepthOfJob(info, runtime.config.eventMaxDepth);
  const { jobId } = await enqueueJob(db, scope, { definitionKey, payload: message, source: "manual", chainDepth });
  return { job_id: jobId };
}
