import { type AttemptEnd, type ClaimedJob, settleAttempts } from "@/lib/queue/testing";
import type { TenantScope } from "@/lib/queue/types";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import type { Factory } from "@/lib/testing/rows/factories";
import { ROUTES, type RouteMethod } from "./routes";
import type { routesOn } from "./routes.fixture";

/** Patterns that no answer may match for a caller without the permission. */
export const CANARIES = {
  "jobs:read": /canary-(?:payload|metadata|tag|correlation|result|error|note)/,
  "triggers:read": /canary-(?:template|label)/,
  "events:read": /canary-event/,
  "webhooks:read": /canary-host/,
} as const;
export const LOOPBACK = { allowHttp: true, loopback: ["127.0.0.1:9"] };

export interface RouteRequest {
  readonly method: RouteMethod;
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Every tenant route that answers JSON. */
export const TENANT_ROUTES = Object.entries(ROUTES).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { access }]) =>
    /^(?:jobs|triggers|events|webhooks|definitions|assets):/.test(access) && !/stream|\[artifactId\]/.test(path)
      ? [`${method} ${path}`]
      : [],
  ),
);

/**
 * Fills a tenant with canaries. Returns a valid request for each tenant route, in an order in which all of them
 * succeed.
 */
export async function requestsIn(
  make: Factory,
  {
    scope,
    call,
    key,
  }: { readonly scope: TenantScope; readonly call: ReturnType<typeof routesOn>; readonly key: string },
): Promise<{ readonly requests: RouteRequest[]; readonly holder: string }> {
  const canaries = { metadata: { a: "canary-metadata" }, tags: ["canary-tag"], correlationId: "canary-correlation" };
  const job = (more = {}) =>
    make.job(scope, { definitionKey: "plain", payload: { a: "canary-payload" }, ...canaries, ...more });
  const ended = async (endOf: (claimed: ClaimedJob) => AttemptEnd): Promise<string> => {
    const { id } = await job();
    const claimed = (await make.claim("w")).find(({ jobId }) => jobId === id);
    if (!claimed) throw new Error("the job was not claimed");
    await settleAttempts(make.worker, [endOf(claimed)]);
    return id;
  };
  await ended((claimed) => succeeded(claimed, { a: "canary-result" }));
  const letter = () => ended((claimed) => ({ ...dead(claimed), errorText: "canary-error" }));
  const [noted, edited, again] = [await letter(), await letter(), await letter()];
  const { id: waiting } = await job();
  const { id: holder } = await job({ dedupeKey: "held" });
  const post = async (path: string, body: unknown): Promise<string> => {
    const answer = await call("POST", path, { key, body });
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.body.id;
  };
  const listens = { trigger_type: "event", definition_key: "plain", event_name: "paid", dedupe_key_template: "held" };
  const trigger = await post("/api/v1/jobs/triggers", {
    ...listens,
    label: "canary-label",
    payload_template: { a: "canary-template" },
  });
  const event = await post("/api/v1/events", { name: "paid", data: { a: "canary-event" } });
  const endpoint = await post("/api/v1/webhooks", { url: "http://127.0.0.1:9/canary-host" });
  const action = await post("/api/v1/jobs/actions", { action: "pause", filter: { tag: "canary-tag" } });

  const of = (method: RouteMethod, path: string, more: Omit<RouteRequest, "method" | "path"> = {}): RouteRequest => ({
    method,
    path: `/api/v1${path}`,
    ...more,
  });
  const onJob = (method: RouteMethod, path: string, jobId: string, body?: unknown) =>
    of(method, path, { params: { jobId }, ...(body === undefined ? {} : { body }) });
  const triggerId = { params: { triggerId: trigger } };
  const endpointId = { params: { endpointId: endpoint } };
  const reads = TENANT_ROUTES.filter((route) => route.startsWith("GET ")).map((route) => {
    const params = { jobId: noted, triggerId: trigger, eventId: event, endpointId: endpoint, actionId: action };
    return { method: "GET" as const, path: route.slice(4), params };
  });
  const requests = [
    ...reads,
    of("POST", "/jobs", { body: { definition_key: "plain", dedupe_key: "held" } }),
    of("POST", "/jobs/bulk", { body: { jobs: [{ definition_key: "plain", dedupe_key: "held" }] } }),
    onJob("PATCH", "/jobs/[jobId]", waiting, { priority: 5 }),
    onJob("POST", "/jobs/[jobId]/pause", waiting, {}),
    onJob("POST", "/jobs/[jobId]/resume", waiting, {}),
    onJob("POST", "/jobs/[jobId]/cancel", waiting, {}),
    onJob("POST", "/jobs/[jobId]/retry", waiting, {}),
    onJob("PATCH", "/jobs/dead-letters/[jobId]", noted, { note: "canary-note" }),
    of("POST", "/jobs/dead-letters/redrive", { body: { ids: [edited], payload: { a: 1 } } }),
    of("POST", "/jobs/dead-letters/redrive", { body: { ids: [again], dry_run: true } }),
    of("POST", "/jobs/actions", { body: { action: "retry", ids: [again], dry_run: true } }),
    of("POST", "/jobs/actions/[actionId]/abort", { params: { actionId: action }, body: {} }),
    of("POST", "/jobs/triggers", { body: { ...listens, label: "another", is_enabled: false } }),
    of("POST", "/jobs/triggers/preview", {
      body: { schedule_type: "cron", cron_expr: "0 9 * * *", timezone: "UTC" },
    }),
    of("POST", "/jobs/triggers/test", { body: { event: { name: "paid" }, trigger_id: trigger } }),
    of("PATCH", "/jobs/triggers/[triggerId]", { ...triggerId, body: { priority: 7 } }),
    of("POST", "/jobs/triggers/[triggerId]/run", { ...triggerId, body: {} }),
    of("POST", "/events", { body: { name: "paid" } }),
    of("POST", "/events/[eventId]/replay", { params: { eventId: event }, body: {} }),
    of("PATCH", "/webhooks/[endpointId]", { ...endpointId, body: { description: "other" } }),
    of("POST", "/webhooks/[endpointId]/test", { ...endpointId, body: {} }),
    of("POST", "/webhooks/[endpointId]/deliveries/[deliveryId]/resend", {
      params: { endpointId: endpoint, deliveryId: event },
      body: {},
    }),
    of("POST", "/webhooks/[endpointId]/rotate-secret", endpointId),
    of("POST", "/webhooks", { body: { url: "http://127.0.0.1:9/" } }),
    of("DELETE", "/webhooks/[endpointId]", endpointId),
    of("DELETE", "/jobs/triggers/[triggerId]", triggerId),
  ];
  return { requests, holder };
}
