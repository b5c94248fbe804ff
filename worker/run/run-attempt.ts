import type { Database, TenantTransaction } from "@/lib/db";
import { withTenant } from "@/lib/db";
import { throughOutage } from "@/lib/db/through-outage";
import {
  type ArtifactStore,
  AttemptLostError,
  type CommandRegistry,
  type Execution,
  executeCommand,
  executeHandler,
  type HandlerEvent,
  type HandlerRunContext,
  JobError,
  type JobHandler,
  type LogLevel,
  type OpenedPath,
  type OutputStream,
  openInside,
  type RunContext,
  type StartThread,
  type StepStore,
  type StopReason,
} from "@/lib/execution";
import { refused } from "@/lib/execution/refused";
import { findProviderPath } from "@/lib/inventory/providers";
import {
  type ArtifactQuota,
  attemptTimeout,
  type ClaimedJob,
  findStep,
  holdLease,
  type Published,
  QueueError,
  LeaseLostError as QueueLeaseLost,
  type RetrySettings,
  type RunnableDefinition,
  storeStep,
} from "@/lib/queue/worker";
import { deliverWebhook, type WebhookTools } from "@/lib/webhooks/deliver-webhook";
import type { Quarantine } from "../quarantine/quarantine";
import { artifactsOf } from "./artifact-store";
import { publishFromJob } from "./publish-from-job";

/** Dependencies for running attempts, shared by all of them. */
export interface RunTools {
  /** For writes that require the lease: steps and artifacts. */
  readonly worker: Database;
  /** For handlers: confined to the job's tenant. */
  readonly web: Database;
  readonly registry: CommandRegistry;
  readonly handlers: ReadonlyMap<string, JobHandler>;
  readonly providerRoots: readonly string[];
  readonly maxTimeoutSeconds: number;
  readonly startThread?: StartThread;
  /** For handlers that may have crashed a worker. Without it they run like all others. */
  readonly quarantine?: Quarantine;
  /** The installation's retry settings. */
  readonly retry?: RetrySettings;
  readonly webhooks?: WebhookTools;
  /** Without it attempts can make no artifacts. */
  readonly artifactQuota?: ArtifactQuota;
  /** Events at this depth trigger nothing. */
  readonly eventMaxDepth?: number;
}

/** Runs one attempt under the version of its definition with which the job was accepted. Never rejects. */
export function runByExecutor(ctx: AttemptContext): Execution | Promise<Execution> {
  const { job, definition, tools } = ctx;
  const problems = definition.validate(job.payload);
  if (problems.length > 0) {
    const where = problems.map(({ pointer, detail }) => `${pointer || "/"} ${detail}`).join("; ");
    return refused("validation", `The payload does not match the definition version it was accepted with: ${where}`);
  }
  if (definition.executor === "command") {
    return executeCommand(tools.registry, definition.commandKey ?? definition.key, job.payload, ctx);
  }
  if (definition.executor === "webhook" && tools.webhooks) {
    return deliverWebhook(job, { web: tools.web, webhooks: tools.webhooks, hooks: ctx });
  }
  const handler = definition.executor === "handler" ? tools.handlers.get(definition.key) : undefined;
  if (!handler) return refused("internal", "This worker does not have the handler.");
  return executeHandler(handler, ctx);
}

const NO_SECRETS: readonly string[] = [];

/** The context of one attempt. A worker creates thousands a second, so most members are created when they are read. */
export abstract class AttemptContext implements HandlerRunContext {
  readonly secrets = NO_SECRETS;

  constructor(
    readonly job: ClaimedJob,
    readonly definition: RunnableDefinition,
    readonly tools: RunTools,
  ) {}

  abstract readonly signal: AbortSignal;
  abstract stopped(): StopReason | undefined;
  abstract onOutput(stream: OutputStream, body: string): void;
  abstract onProgress(percent: number, message: string | null): void;
  abstract onLog(level: LogLevel, body: string, context?: Readonly<Record<string, unknown>>): void;
  abstract onSpawn(pid: number): void;

  get jobId(): string {
    return this.job.jobId;
  }

  get tenantId(): string {
    return this.job.tenantId;
  }

  get attemptNo(): number {
    return this.job.leaseNo;
  }

  get chainDepth(): number {
    return this.job.chainDepth;
  }

  get idempotencyKey(): string {
    return `${this.job.jobId}:${this.job.runNo}`;
  }

  get payload(): unknown {
    return this.job.payload;
  }

  get killGraceSeconds(): number {
    return this.definition.killGraceSeconds;
  }

  get timeoutSeconds(): number {
    return attemptTimeout(this.job, this.definition, this.tools.maxTimeoutSeconds);
  }

  get registry(): CommandRegistry {
    return this.tools.registry;
  }

  get startThread(): StartThread | undefined {
    return this.tools.startThread;
  }

  get steps(): StepStore {
    return stepsOf(this.tools.worker, this);
  }

  get artifacts(): ArtifactStore | undefined {
    const { worker, artifactQuota } = this.tools;
    return artifactQuota && artifactsOf(worker, this, artifactQuota);
  }

  get openProviderPath(): RunContext["openProviderPath"] {
    const { tools, job } = this;
    return (providerId, relative) =>
      throughOutage(this, () => openProviderPath(tools, job.tenantId, { providerId, relative }));
  }

  /** Waits for an unavailable database only until `fn` is called; from then on the handler sees the errors. */
  transaction<T>(fn: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    let hasBegun = false;
    const own = (tx: TenantTransaction) => {
      hasBegun = true;
      return fn(tx);
    };
    return throughOutage(
      this,
      () => inLease(this.tools.web, this.job, own),
      () => !hasBegun,
    );
  }

  publishEvent(event: HandlerEvent, tx?: TenantTransaction): Promise<Published> {
    const { job, tools } = this;
    const asked = { event, maxDepth: tools.eventMaxDepth };
    if (tx) return publishFromJob(tx, job, asked);
    // Published once per run, however often this is called.
    return throughOutage(this, () => inLease(tools.web, job, (own) => publishFromJob(own, job, asked)));
  }
}

function stepsOf(worker: Database, attempt: { readonly job: ClaimedJob; readonly signal: AbortSignal }): StepStore {
  const { job } = attempt;
  return {
    find: (name) => throughOutage(attempt, () => findStep(worker, job, name)),
    store: (name, result) =>
      throughOutage(attempt, () => storeStep(worker, job, { name, result })).catch((error: unknown) => {
        if (error instanceof QueueLeaseLost) throw new AttemptLostError();
        if (!(error instanceof QueueError)) throw error;
        const message = `the result of step ${JSON.stringify(name)} cannot be stored: ${error.message}`;
        throw new JobError(message, { errorType: "internal", retryable: false });
      }),
  };
}

/** Commits only while the attempt holds its lease, so that nothing of a late worker's work is kept. */
function inLease<T>(web: Database, job: ClaimedJob, fn: Parameters<typeof withTenant<T>>[2]): Promise<T> {
  return withTenant(web, job.tenantId, async (tx) => {
    const result = await fn(tx);
    await holdLease(tx, job).catch((error: unknown) => {
      throw error instanceof QueueLeaseLost ? new AttemptLostError() : error;
    });
    return result;
  });
}

async function openProviderPath(
  { web, providerRoots }: RunTools,
  tenantId: string,
  { providerId, relative }: { readonly providerId: string; readonly relative: string },
): Promise<OpenedPath> {
  const root = await findProviderPath(web, tenantId, providerId);
  if (root === null) throw new JobError("the provider does not exist", { errorType: "not_found" });
  return openInside({ root, relative, allowedRoots: providerRoots });
}
