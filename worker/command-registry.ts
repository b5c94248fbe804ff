import path from "node:path";
import { dataDir } from "@/lib/db/embedded/index.mjs";
import { heldSecrets } from "@/lib/env/secret-source.mjs";
import { dropIsolation } from "@/lib/env/test-build";
import type { WorkerEnv } from "@/lib/env/worker";
import { type CommandRegistry, loadCommandRegistry } from "@/lib/execution";

/**
 * Reads the commands that this worker may run, and hides from them what is the installation's: LEASEHOLD_HOME, the data of
 * the embedded PostgreSQL, every file that secrets came from, and `.env`.
 * @throws CommandRegistryError naming the entry that is wrong
 */
export function commandRegistry(env: WorkerEnv): Promise<CommandRegistry> {
  const sharedFolder = dataDir(env.home);
  return loadCommandRegistry(env.commandsFile, {
    sharedFolder,
    hide: {
      folders: [env.home, sharedFolder],
      files: [...heldSecrets().files, path.resolve(".env")],
      kept: env.providerRoots,
    },
    refuseExposed: env.refuseExposed,
    ...(dropIsolation() ? { isolation: "group" } : {}),
  });
}
