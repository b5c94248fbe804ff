import { z } from "zod";
import { databaseFields, databaseUrls } from "./database-urls";
import {
  attemptFields,
  attemptSettings,
  folderList,
  hostList,
  httpOrigin,
  listenAddress,
  logFields,
  secretText,
  shutdownFields,
  wholeNumber,
} from "./fields";
import { localOrigin } from "./local-origin.mjs";
import { readEnv, type Source } from "./read";
import { trustedProxies } from "./trusted-proxies";
import { webhookFields, webhookPolicy } from "./webhooks";

const schema = z.object({
  ...databaseFields("web"),
  ...logFields,
  ...webhookFields,
  ...attemptFields,
  ...shutdownFields,
  AUTH_SECRET: secretText,
  DATA_KEY: secretText,
  AUTH_URL: httpOrigin.optional(),
  ALLOWED_HOSTS: hostList,
  TRUSTED_PROXIES: trustedProxies,
  MAX_CONNECTIONS: wholeNumber(10, 1_000_000, 5000),
  PORT: wholeNumber(0, 65_535, 3000),
  HOST: listenAddress,
  PROVIDER_ROOTS: folderList,
});

export type WebEnv = ReturnType<typeof loadWebEnv>;

/** Returns the settings of the web process. @throws EnvironmentError with every problem */
export function loadWebEnv(source?: Source) {
  const env = readEnv(schema, source);
  const origin = env.AUTH_URL ?? localOrigin(env.HOST, env.PORT);
  const urls = databaseUrls(env, "web");
  return {
    databaseUrls: {
      web: urls.web,
      auth: urls.auth,
      platform: urls.platform,
      worker: urls.worker,
      listen: urls.direct,
    },
    authSecret: env.AUTH_SECRET,
    dataKey: env.DATA_KEY,
    origin,
    /** The hosts that requests may name; see `hostCheck`. */
    hosts: {
      names: [new URL(origin).hostname.replace(/^\[(.*)\]$/, "$1"), ...env.ALLOWED_HOSTS],
      anyAddress: env.AUTH_URL === undefined,
    },
    trustedProxies: env.TRUSTED_PROXIES,
    maxConnections: env.MAX_CONNECTIONS,
    port: env.PORT,
    host: env.HOST,
    providerRoots: env.PROVIDER_ROOTS,
    prepare: env.DATABASE_PREPARE,
    shutdownGraceSeconds: env.SHUTDOWN_GRACE_SECONDS,
    ...attemptSettings(env),
    webhooks: webhookPolicy(env),
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
  };
}
