import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { builtinDefinitions } from "@/jobs";
import { withTenant } from "@/lib/db";
import { loadCommandRegistry } from "@/lib/execution";
import { createLogger } from "@/lib/observability/log";
import { type ClaimedJob, getJob, type TenantScope } from "@/lib/queue/testing";
import type { TestDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listDeliveries } from "@/lib/webhooks/deliveries";
import { newWebhookSecret, type WebhookLimits } from "@/lib/webhooks/delivery";
import { startReceiver } from "@/lib/webhooks/delivery/receiver.fixture";
import { type EndpointSettings, findEndpoint, insertEndpoint } from "@/lib/webhooks/endpoints";
import { makeSealer } from "@/lib/webhooks/seal";
import { processClock } from "@/worker/lease/lease-protocol";
import { JobRunner } from "@/worker/run/runner";
import { Settler } from "@/worker/settle/settler";

export const LIMITS: WebhookLimits = { connectMs: 3000, totalMs: 15_000, responseBytes: 64 * 1024 };
const log = createLogger({ process: "worker", level: "silent", format: "json" });

/** A tenant, the definition `deliver-webhook`, a receiver on this machine, and workers that deliver. */
export async function webhookStage(database: TestDatabase) {
  const make = makeFactory(database);
  const scope = await make.tenant();
  const sealer = makeSealer("a data key of the tests, of some length");
  const sharedFolder = mkdtempSync(path.join(tmpdir(), "leasehold-webhooks-"));
  chmodSync(sharedFolder, 0o755);
  const registry = await loadCommandRegistry("e2e/processes/commands/commands.json", { sharedFolder });
  const builtin = builtinDefinitions.find(({ key }) => key === "deliver-webhook");
  await make.definition({
    key: "deliver-webhook",
    executor: "webhook",
    arg_schema: builtin?.arg_schema ?? {},
    max_attempts: builtin?.max_attempts ?? 0,
    retry: builtin?.retry ?? {},
    retry_classes: builtin?.retry_classes ?? {},
  });
  const receiver = await startReceiver();

  const runnerWith = ({ slots = 2, limits = LIMITS }: { slots?: number; limits?: WebhookLimits } = {}): JobRunner =>
    new JobRunner({
      workerId: "the-runner",
      db: make.worker,
      log,
      leases: { hold: () => undefined, limit: () => undefined, drop: () => undefined, spawned: () => undefined },
      settler: new Settler(make.worker, log, () => 0.5),
      tools: {
        worker: make.worker,
        web: make.web,
        registry,
        handlers: new Map(),
        providerRoots: [],
        maxTimeoutSeconds: 3600,
        webhooks: { policy: { allowHttp: false, loopback: ["127.0.0.1:*"] }, sealer, random: () => 0.5, limits },
      },
      logMaxBytes: 10_000,
      random: () => 0.5,
      slots,
      mostAside: 100,
      onFree: () => undefined,
    });
  const runner = runnerWith();

  const inTenant = <T>(fn: Parameters<typeof withTenant<T>>[2], owner: TenantScope = scope) =>
    withTenant(make.web, owner.tenantId, fn);

  async function endpoint(
    changes: Partial<EndpointSettings> & { headers?: Record<string, string>; secret?: string } = {},
    owner: TenantScope = scope,
  ): Promise<string> {
    const usual = {
      url: receiver.url,
      description: "",
      event_types: null,
      is_enabled: true,
      created_by: null,
      headers: {},
    };
    const settings = { ...usual, secret: newWebhookSecret(), ...changes };
    const made = await inTenant((tx) => insertEndpoint(tx, sealer, settings), owner);
    return made?.id ?? "";
  }

  const deliveryJob = (endpointId: string, type = "order.paid") =>
    make.job(scope, { definitionKey: "deliver-webhook", payload: { endpoint_id: endpointId, type, data: { n: 1 } } });

  async function claim(jobIds: readonly string[], limit = 200): Promise<ClaimedJob[]> {
    const jobs = await make.claim("the-runner", limit);
    return jobs.filter((one) => jobIds.includes(one.jobId));
  }

  /** Makes jobs due that wait for their next attempt. */
  const makeDue = (jobIds: readonly string[]) =>
    database.query("update app.live_jobs set ready = true, scheduled_for = app.now() where job_id = any ($1)", [
      jobIds,
    ]);

  /** Runs one attempt of a job. */
  async function run(jobId: string): Promise<void> {
    await makeDue([jobId]);
    runner.take(await claim([jobId]), processClock());
    await waitFor(() => runner.count === 0);
  }

  async function delivered(endpointId: string, type?: string): Promise<string> {
    const { id } = await deliveryJob(endpointId, type);
    await run(id);
    return id;
  }

  return {
    make,
    scope,
    sealer,
    receiver,
    runner,
    runnerWith,
    inTenant,
    endpoint,
    deliveryJob,
    claim,
    makeDue,
    run,
    delivered,
    jobOf: (id: string) => getJob(make.web, scope, id),
    deliveriesOf: async (endpointId: string) =>
      (await inTenant((tx) => listDeliveries(tx, { endpointId, limit: 100 }))).rows,
    endpointOf: (id: string) => inTenant((tx) => findEndpoint(tx, id)),
    close: async () => {
      await receiver.close();
      await make.close();
      rmSync(sharedFolder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
