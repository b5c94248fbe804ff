/**
 * The commands of an operator: `migrate` and `seed`. Start with `main`; options.ts lists the options.
 *
 * Running `migrate` again applies only the missing migrations. Running `seed` again keeps existing data, except that
 * `--admin` sets a new one-time password. Neither starts or stops the other processes.
 */

import { type Database, makeRoles, migrate, openDatabase } from "@/lib/db";
import { type AdminEnv, loadAdminEnv } from "@/lib/env/admin";
import { orExit } from "@/lib/env/read";
import { heldSecrets } from "@/lib/env/secret-source.mjs";
import { PAUSED } from "@/lib/process";
import { dataKeyCheck } from "@/lib/tenancy/data-key";
import { ensureDatabase } from "./create-database";
import { settleDataKey } from "./data-key";
import { isInstallationPaused, setHome } from "./home";
import { migrateOptions, seedOptions, USAGE } from "./options";
import { writeSecretFiles } from "./secret-files";
import { seed } from "./seed";

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main([verb, ...args]: string[]): Promise<void> {
  if (args.includes("--help")) return say(USAGE);
  if (verb !== "migrate" && verb !== "seed") throw new Error(USAGE);
  const env = orExit(loadAdminEnv);
  if (verb === "seed") return seed(env, { ...seedOptions(args, env.demo), log: say });
  const options = migrateOptions(args);
  if (options["create-database"]) await ensureDatabase(env.adminUrl);
  if (options.roles) {
    await makeRoles(env);
    return say("The roles exist. Restore the dump, then migrate.");
  }
  const { applied } = await migrate({ ...env, log: say });
  await withAdmin(env, async (admin) => {
    const replace = options["new-data-key"] === true;
    await settleDataKey(admin, { check: dataKeyCheck(env.dataKey), replace, log: say });
    if (options.resume) {
      await setHome(admin, "resume");
      say("Resumed: workers and schedulers continue.");
    }
    if (options.pause) await setHome(admin, "pause");
    if (await isInstallationPaused(admin)) say(PAUSED.advice);
  });
  if (options.secrets !== undefined) writeSecretFiles(options.secrets, heldSecrets().values);
  say(applied.length === 0 ? "The database is up to date." : `${applied.length} migrations applied.`);
}

async function withAdmin(
  { adminUrl: url, prepare }: AdminEnv,
  work: (admin: Database) => Promise<void>,
): Promise<void> {
  const admin = openDatabase({ url, prepare, role: "admin", max: 1, applicationName: "leasehold admin" });
  try {
    await work(admin);
  } finally {
    await admin.close();
  }
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  },
);
