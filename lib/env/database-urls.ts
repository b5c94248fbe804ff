import type { ApplicationRole } from "@/lib/db";
import { roleUrl } from "@/lib/db/migrate/credentials";
import { databaseUrl, flag, secretText } from "./fields";
import { EnvironmentError } from "./read";

const OVERRIDES = {
  web: "DATABASE_WEB_URL",
  worker: "DATABASE_WORKER_URL",
  scheduler: "DATABASE_SCHEDULER_URL",
  platform: "DATABASE_PLATFORM_URL",
  auth: "DATABASE_AUTH_URL",
} as const satisfies Record<ApplicationRole, string>;

export const databaseFields = {
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  DATABASE_WEB_URL: databaseUrl.optional(),
  DATABASE_WORKER_URL: databaseUrl.optional(),
  DATABASE_SCHEDULER_URL: databaseUrl.optional(),
  DATABASE_PLATFORM_URL: databaseUrl.optional(),
  DATABASE_AUTH_URL: databaseUrl.optional(),
  DATABASE_PREPARE: flag(true),
  LEASEHOLD_SECRET: secretText.optional(),
};

type DatabaseFields = {
  [Name in Exclude<keyof typeof databaseFields, "DATABASE_PREPARE">]?: string | undefined;
};

/** URL per role; `direct` is the first role's connection past any pooler, for LISTEN and session locks. */
export type DatabaseUrls<R extends ApplicationRole> = Readonly<Record<R | "direct", string>>;

/** The URL of each role: its own variable, else DATABASE_URL with the login derived from LEASEHOLD_SECRET. */
export function databaseUrls<R extends ApplicationRole>(
  env: DatabaseFields,
  roles: readonly [R, ...R[]],
): DatabaseUrls<R> {
  const missing = new Set<string>();
  const urlOf = (role: R): string => {
    const own = env[OVERRIDES[role]];
    if (own) return own;
    if (!env.DATABASE_URL) missing.add(`DATABASE_URL is required (or ${OVERRIDES[role]})`);
    if (!env.LEASEHOLD_SECRET) missing.add("LEASEHOLD_SECRET is required: the database logins derive from it");
    if (!env.DATABASE_URL || !env.LEASEHOLD_SECRET) return "";
    return roleUrl(env.DATABASE_URL, env.LEASEHOLD_SECRET, role);
  };
  const urls = Object.fromEntries(roles.map((role) => [role, urlOf(role)])) as Record<R, string>;
  if (missing.size > 0) throw new EnvironmentError([...missing]);
  return { ...urls, direct: withServerOf(urls[roles[0]], env.DATABASE_DIRECT_URL) };
}

function withServerOf(loginUrl: string, directUrl: string | undefined): string {
  if (!directUrl) return loginUrl;
  const direct = new URL(directUrl);
  const login = new URL(loginUrl);
  direct.username = login.username;
  direct.password = login.password;
  return direct.href;
}
