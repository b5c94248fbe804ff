import { statement } from "./statement";
import type { Runner } from "./types";

const loginSql = statement(
  "login_rights",
  "select rolname as login, rolsuper or rolbypassrls as unsafe from pg_roles where rolname = current_user",
  { repeatable: true },
);

/** Returns why a process must not use this login (row security does not apply to it), or null if the login is safe. */
export async function unsafeLogin(db: Runner): Promise<string | null> {
  const [row] = await db.run<{ login: string; unsafe: boolean }>(loginSql);
  if (!row?.unsafe) return null;
  return (
    `The database login ${row.login} is a superuser or has BYPASSRLS, so row security does not separate tenants. ` +
    "Use the logins that `npm run secrets` prints, " +
    `or run: ALTER ROLE "${row.login}" NOSUPERUSER NOBYPASSRLS.`
  );
}
