import path from "node:path";
import { dataDir } from "@/lib/db/embedded/index.mjs";
import { heldSecrets } from "@/lib/env/secret-source.mjs";
import { dropIsolation } from "@/lib/env/test-build";
import type { WorkerEnv } from "@/lib/env/worker";
import { type CommandRegistry, loadCommandRegistry } from "@/lib/execution";

/** Where programs leave files that others can read. */
const SCRATCH = ["/tmp", "/var/tmp", "/dev/shm"];

/**
 * Reads the commands that this worker may run. Hides from them what is the installation's (LEASEHOLD_HOME, the data of the
 * embedded PostgreSQL, every file that secrets came from, and `.env`), and what is another job's: the folders of providers,
 * of which a command has those it is given, and what lies in /tmp.
 * @throws CommandRegistryError naming the entry that is wrong
 */
export function commandRegistry(env: WorkerEnv): Promise<CommandRegistry> {
  const sharedFolder = dataDir(env.home);
  return loadCommandRegistry(env.commandsFile, {
    sharedFolder,
    hide: {
      folders: [env.home, sharedFolder, ...env.providerRoots],
      files: [...heldSecrets().files, path.resolve(".env")],
      scratch: SCRATCH,
      kept: env.commandFolders,
    },
    refuseExposed: env.refuseExposed,
    ...(dropIsolation() ? { isolation: "group" } : {}),
  });
}
