import { parseArgs } from "node:util";
import { tenantRole } from "@/lib/contract";
import { type Database, makeRoles, migrate, openDatabase } from "@/lib/db";
import { type AdminEnv, loadAdminEnv } from "@/lib/env/admin";
import { orExit } from "@/lib/env/read";
import { heldSecrets } from "@/lib/env/secret-source.mjs";
import { PAUSED } from "@/lib/process";
import { dataKeyCheck } from "@/lib/tenancy/data-key";
import { ensureDatabase } from "./create-database";
import { settleDataKey } from "./data-key";
import { isPaused, setHome } from "./home";
import { writeSecretFiles } from "./secret-files";
import { type SeedOptions, seed } from "./seed";

const USAGE =
  "usage: migrate [--create-database] [--new-data-key] [--secrets FOLDER] [--resume | --pause] | migrate --roles [--create-database] | " +
  "seed [--demo] [--admin EMAIL] [--tenant SLUG --member EMAIL [--role admin|member|viewer]] [--key]";

const SEED_OPTIONS = {
  demo: { type: "boolean" },
  admin: { type: "string" },
  tenant: { type: "string" },
  member: { type: "string" },
  role: { type: "string" },
  key: { type: "boolean" },
} as const;

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main([verb, ...args]: string[]): Promise<void> {
  if (verb !== "migrate" && verb !== "seed") throw new Error(USAGE);
  const env = orExit(loadAdminEnv);
  if (verb === "seed") return seed(env, { ...seedOptions(args, env.demo), log: say });
  if (args.includes("--create-database")) await ensureDatabase(env.adminUrl);
  if (args.includes("--roles")) {
    await makeRoles(env);
    return say("The roles are there. Restore the dump, then migrate.");
  }
  const { applied } = await migrate({ ...env, log: say });
  await withAdmin(env, async (admin) => {
    const replace = args.includes("--new-data-key");
    await settleDataKey(admin, { check: dataKeyCheck(env.dataKey), replace, log: say });
    if (args.includes("--resume")) {
      await setHome(admin, "resume");
      say("Resumed: workers and schedulers go on by themselves.");
    }
    if (args.includes("--pause")) await setHome(admin, "pause");
    if (await isPaused(admin)) say(PAUSED.advice);
  });
  const folder = args.includes("--secrets") ? args[args.indexOf("--secrets") + 1] : undefined;
  if (folder !== undefined) writeSecretFiles(folder, heldSecrets().values);
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

/** @throws if an option is unknown, lacks its value or goes with none of the others */
function seedOptions(args: readonly string[], demo: boolean): Omit<SeedOptions, "log"> {
  const { values } = parseArgs({ args: [...args], options: SEED_OPTIONS });
  const { admin, tenant, member, role = "admin", key = false } = values;
  const people = admin !== undefined || member !== undefined;
  const parsedRole = tenantRole.safeParse(role);
  if ((tenant === undefined) !== (member === undefined) || (key && !people) || !parsedRole.success) {
    throw new Error(USAGE);
  }
  return {
    demo: values.demo === true || (demo && !people),
    key,
    ...(admin === undefined ? {} : { adminEmail: admin }),
    ...(tenant === undefined || member === undefined
      ? {}
      : { member: { tenant, email: member, role: parsedRole.data } }),
  };
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  },
);
