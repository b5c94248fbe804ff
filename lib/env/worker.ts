import { hostname } from "node:os";
import path from "node:path";
import { z } from "zod";
import { databaseFields, databaseUrls } from "./database-urls";
import {
  attemptFields,
  attemptSettings,
  commaList,
  flag,
  folderList,
  healthFields,
  logFields,
  secretText,
  shutdownFields,
  wholeNumber,
} from "./fields";
import { mailFields } from "./mail";
import { readEnv, type Source } from "./read";
import { webhookFields, webhookPolicy } from "./webhooks";

const schema = z.object({
  ...databaseFields("worker"),
  ...logFields,
  ...webhookFields,
  // Used by the handler that sends e-mail; validated here, so that an invalid setting aborts the start.
  ...mailFields,
  ...attemptFields,
  ...shutdownFields,
  ...healthFields,
  DATA_KEY: secretText,
  LEASEHOLD_HOME: z.string().default(".leasehold"),
  PROVIDER_ROOTS: folderList,
  COMMAND_FOLDERS: folderList,
  COMMANDS_UNSAFE_IN_PRODUCTION: flag(false),
  COMMANDS_FILE: z.string().default("jobs/commands.json"),
  WORKER_CONCURRENCY: wholeNumber(1, 1000, 5),
  WEBHOOK_CONCURRENCY: wholeNumber(0, 1000, 100),
  WORKER_QUEUES: commaList,
  WORKER_DEFINITIONS: commaList,
  WORKER_BANDS: commaList,
  WORKER_LABEL: z.string().max(100, { error: "must have at most 100 characters" }).optional(),
  WORKER_MEMORY_LIMIT_MB: wholeNumber(0, 1_048_576, 1024),
  HANDLER_THREAD_MEMORY_MB: wholeNumber(16, 1_048_576, 128),
});

export type WorkerEnv = ReturnType<typeof loadWorkerEnv>;

/** Returns the settings of a worker process. @throws EnvironmentError with every problem */
export function loadWorkerEnv(source?: Source) {
  const env = readEnv(schema, source);
  const urls = databaseUrls(env, "worker");
  return {
    databaseUrls: { worker: urls.worker, web: urls.web, listen: urls.direct },
    dataKey: env.DATA_KEY,
    home: path.resolve(env.LEASEHOLD_HOME),
    providerRoots: env.PROVIDER_ROOTS,
    commandFolders: env.COMMAND_FOLDERS,
    commandsFile: path.resolve(env.COMMANDS_FILE),
    refuseExposed: env.NODE_ENV === "production" && !env.COMMANDS_UNSAFE_IN_PRODUCTION,
    concurrency: env.WORKER_CONCURRENCY,
    webhookConcurrency: env.WEBHOOK_CONCURRENCY,
    queues: env.WORKER_QUEUES,
    definitions: env.WORKER_DEFINITIONS,
    bands: env.WORKER_BANDS,
    label: env.WORKER_LABEL ?? hostname(),
    memoryLimitBytes: env.WORKER_MEMORY_LIMIT_MB * 1024 * 1024,
    threadMemoryMb: env.HANDLER_THREAD_MEMORY_MB,
    prepare: env.DATABASE_PREPARE,
    shutdownGraceSeconds: env.SHUTDOWN_GRACE_SECONDS,
    healthPort: env.HEALTH_PORT,
    healthHost: env.HOST,
    ...attemptSettings(env),
    webhooks: webhookPolicy(env),
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
  };
}
