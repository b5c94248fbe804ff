import type { ApplicationRole } from "@/lib/db";
import { databaseUrl, flag, postgresUrl } from "./fields";
import { PROCESS_ROLES, type ProcessName, ROLE_URLS, withLoginOf } from "./process-secrets.mjs";

/** Connection settings of every process. */
export const connectionFields = {
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  DATABASE_PREPARE: flag(true),
};

type RoleOf<P extends ProcessName> = (typeof PROCESS_ROLES)[P][number];
type UrlFields<P extends ProcessName> = Record<(typeof ROLE_URLS)[RoleOf<P>], ReturnType<typeof postgresUrl>>;

/** Connection settings of a process: a URL for each role that the process logs in as, and for no other role. */
export function databaseFields<P extends ProcessName>(name: P): typeof connectionFields & UrlFields<P> {
  const url = postgresUrl(`is required (\`npm run secrets -- ${name}\` prints what this process needs)`);
  const fields = PROCESS_ROLES[name].map((role) => [ROLE_URLS[role], url]);
  return { ...connectionFields, ...(Object.fromEntries(fields) as UrlFields<P>) };
}

/** URL per role. `direct` is the first role's connection that bypasses any pooler, for LISTEN and session locks. */
export type DatabaseUrls<R extends ApplicationRole> = Readonly<Record<R | "direct", string>>;

/** Returns the URLs of the roles that a process logs in as, and of its direct connection. */
export function databaseUrls<P extends ProcessName>(
  env: Readonly<Record<(typeof ROLE_URLS)[RoleOf<P>], string>> & { readonly DATABASE_DIRECT_URL?: string | undefined },
  name: P,
): DatabaseUrls<RoleOf<P>> {
  const urlOf = (role: RoleOf<P>): string => env[ROLE_URLS[role]];
  const roles: readonly RoleOf<P>[] = PROCESS_ROLES[name];
  const urls = Object.fromEntries(roles.map((role) => [role, urlOf(role)])) as Record<RoleOf<P>, string>;
  const first = urls[PROCESS_ROLES[name][0] as RoleOf<P>];
  return { ...urls, direct: env.DATABASE_DIRECT_URL ? withLoginOf(first, env.DATABASE_DIRECT_URL) : first };
}
