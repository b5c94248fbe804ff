import type { handlers as installedHandlers } from "@/jobs";
import type { Database } from "@/lib/db";
import type { WorkerEnv } from "@/lib/env/worker";
import type { CommandRegistry } from "@/lib/execution";
import { makeSealer } from "@/lib/webhooks/seal";
import { threadStarter } from "./handler-threads";
import type { RunTools } from "./run-attempt";
import { WebhookThread } from "./webhook-thread";

export interface ToolParts {
  readonly env: WorkerEnv;
  readonly worker: Database;
  readonly web: Database;
  readonly registry: CommandRegistry;
  readonly handlers: typeof installedHandlers;
  readonly random: () => number;
}

/** Returns the run tools of a process with these settings and connections. */
export const toolsOf = ({ env, worker, web, registry, handlers, random }: ToolParts): RunTools => ({
  worker,
  web,
  registry,
  handlers,
  providerRoots: env.providerRoots,
  maxTimeoutSeconds: env.maxTimeoutSeconds,
  startThread: threadStarter({
    threadMb: env.threadMemoryMb,
    limitMb: env.memoryLimitBytes / (1024 * 1024),
    concurrency: env.concurrency,
  }),
  retry: env.retry,
  webhooks: { policy: env.webhooks, sealer: makeSealer(env.dataKey), random, post: new WebhookThread().post },
  eventMaxDepth: env.eventMaxDepth,
  artifactQuota: env.artifactQuota,
});
