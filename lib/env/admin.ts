import path from "node:path";
import { z } from "zod";
import { APPLICATION_ROLES, type ApplicationRole, loginOf, roleName } from "@/lib/db";
import { connectionFields } from "./database-urls";
import { databaseUrl, flag, secretText } from "./fields";
import { derivedKey, ROLE_URLS } from "./process-secrets.mjs";
import { readEnv, type Source } from "./read";

const schema = z.object({
  ...connectionFields,
  DATABASE_URL: databaseUrl,
  DATABASE_WEB_URL: databaseUrl.optional(),
  DATABASE_WORKER_URL: databaseUrl.optional(),
  DATABASE_SCHEDULER_URL: databaseUrl.optional(),
  DATABASE_PLATFORM_URL: databaseUrl.optional(),
  DATABASE_AUTH_URL: databaseUrl.optional(),
  LEASEHOLD_SECRET: secretText,
  DATA_KEY: secretText.optional(),
  LEASEHOLD_HOME: z.string().default(".leasehold"),
  LEASEHOLD_DEMO: flag(false),
});

export type AdminEnv = ReturnType<typeof loadAdminEnv>;

/** Settings of migrations and seeding, which alone use the administrator's login. */
export function loadAdminEnv(source?: Source) {
  const env = readEnv(schema, source);
  const roleUrls = ownUrls(env);
  return {
    adminUrl: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
    prepare: env.DATABASE_PREPARE,
    secret: env.LEASEHOLD_SECRET,
    dataKey: env.DATA_KEY ?? derivedKey("DATA_KEY", env.LEASEHOLD_SECRET),
    roleUrls,
    rolePasswords: ownPasswords(roleUrls),
    home: path.resolve(env.LEASEHOLD_HOME),
    demo: env.LEASEHOLD_DEMO,
  };
}

type ByRole = Readonly<Partial<Record<ApplicationRole, string>>>;

/** Returns the URLs that were set for single roles. */
function ownUrls(env: z.output<typeof schema>): ByRole {
  return Object.fromEntries(
    APPLICATION_ROLES.flatMap((role) => {
      const url = env[ROLE_URLS[role]];
      return url === undefined ? [] : [[role, url]];
    }),
  );
}

/** Returns the passwords in these URLs. The password of a login other than the role's own is ignored. */
function ownPasswords(urls: ByRole): ByRole {
  const logins = Object.entries(urls).map(([role, url]) => ({ role: role as ApplicationRole, ...loginOf(url) }));
  return Object.fromEntries(
    logins
      .filter(({ role, user, password }) => user === roleName(role) && password)
      .map((one) => [one.role, one.password]),
  );
}
