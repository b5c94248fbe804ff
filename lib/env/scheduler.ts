import { z } from "zod";
import { databaseFields, databaseUrls } from "./database-urls";
import { chainFields, folderList, healthFields, logFields, retryFields, retrySettings, shutdownFields } from "./fields";
import { readEnv, type Source } from "./read";

const schema = z.object({
  ...databaseFields("scheduler"),
  ...logFields,
  ...retryFields,
  ...chainFields,
  ...shutdownFields,
  ...healthFields,
  PROVIDER_ROOTS: folderList,
});

export type SchedulerEnv = ReturnType<typeof loadSchedulerEnv>;

/** Returns the settings of a scheduler process. @throws EnvironmentError with every problem */
export function loadSchedulerEnv(source?: Source) {
  const env = readEnv(schema, source);
  const urls = databaseUrls(env, "scheduler");
  return {
    databaseUrls: { scheduler: urls.scheduler, web: urls.web, listen: urls.direct },
    providerRoots: env.PROVIDER_ROOTS,
    prepare: env.DATABASE_PREPARE,
    shutdownGraceSeconds: env.SHUTDOWN_GRACE_SECONDS,
    healthPort: env.HEALTH_PORT,
    healthHost: env.HOST,
    retry: retrySettings(env),
    eventMaxDepth: env.EVENT_MAX_DEPTH,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
  };
}
