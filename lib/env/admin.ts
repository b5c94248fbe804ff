import path from "node:path";
import { z } from "zod";
import { databaseUrl, flag, secretText } from "./fields";
import { readEnv, type Source } from "./read";
import { derivedSecret } from "./secrets";

const schema = z.object({
  DATABASE_URL: databaseUrl,
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  DATABASE_PREPARE: flag(true),
  LEASEHOLD_SECRET: secretText,
  DATA_KEY: secretText.optional(),
  LEASEHOLD_HOME: z.string().default(".leasehold"),
  LEASEHOLD_DEMO: flag(false),
});

export type AdminEnv = ReturnType<typeof loadAdminEnv>;

/** Settings of migrations and seeding, the only work done with the administrator's login. */
export function loadAdminEnv(source?: Source) {
  const env = readEnv(schema, source);
  return {
    adminUrl: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
    prepare: env.DATABASE_PREPARE,
    secret: env.LEASEHOLD_SECRET,
    dataKey: derivedSecret("DATA_KEY", env.DATA_KEY, env.LEASEHOLD_SECRET),
    home: path.resolve(env.LEASEHOLD_HOME),
    demo: env.LEASEHOLD_DEMO,
  };
}
