import { migrate } from "@/lib/db";
import { loadAdminEnv } from "@/lib/env/admin";
import { orExit } from "@/lib/env/read";
import { ensureDatabase } from "./create-database";
import { seed } from "./seed";

const USAGE = "usage: migrate [--create-database] | seed [--demo] [--admin EMAIL]";

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main([verb, ...args]: string[]): Promise<void> {
  if (verb !== "migrate" && verb !== "seed") throw new Error(USAGE);
  const env = orExit(loadAdminEnv);
  if (verb === "seed") return seed(env, { ...seedOptions(args, env.demo), log: say });
  if (args.includes("--create-database")) await ensureDatabase(env.adminUrl);
  const { applied } = await migrate({ adminUrl: env.adminUrl, secret: env.secret, log: say });
  say(applied.length === 0 ? "The database is up to date." : `${applied.length} migrations applied.`);
}

function seedOptions(args: readonly string[], demo: boolean): { demo: boolean; adminEmail?: string } {
  const at = args.indexOf("--admin");
  if (at === -1) return { demo: demo || args.includes("--demo") };
  const adminEmail = args[at + 1];
  if (!adminEmail) throw new Error(USAGE);
  return { demo: args.includes("--demo"), adminEmail };
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  },
);
