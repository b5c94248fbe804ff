import { existsSync } from "node:fs";
import path from "node:path";
import { dataDir } from "@/lib/db/embedded/index.mjs";
import { heldSecrets } from "@/lib/env/secret-source.mjs";
import { dropIsolation } from "@/lib/env/test-build";
import type { WorkerEnv } from "@/lib/env/worker";
import { type CommandRegistry, loadCommandRegistry } from "@/lib/execution";
import type { Logger } from "@/lib/observability/log";

/** Folders in which programs leave files that others can read. */
const SCRATCH = ["/tmp", "/var/tmp", "/dev/shm"];

/**
 * Loads the commands that this worker may run. Hides the installation's files from them: LEASEHOLD_HOME, the data of
 * the embedded PostgreSQL, every file that secrets came from, and `.env`. Also hides other jobs' files: those in /tmp,
 * and the folders of providers except the ones that the command is given.
 * @param launch how commands are isolated; detected by default
 * @throws CommandRegistryError naming the entry that is wrong
 */
export function commandRegistry(
  env: WorkerEnv,
  log: Logger,
  launch?: CommandRegistry["launch"],
): Promise<CommandRegistry> {
  const sharedFolder = dataDir(env.home);
  for (const root of env.providerRoots.filter((folder) => !existsSync(folder)))
    log.warn({ root }, "a folder of PROVIDER_ROOTS does not exist");
  return loadCommandRegistry(env.commandsFile, {
    sharedFolder,
    hide: {
      folders: [env.home, sharedFolder, ...env.providerRoots],
      files: [...heldSecrets().files, path.resolve(".env")],
      scratch: SCRATCH,
      kept: env.commandFolders,
    },
    onUnremoved: (folder, reason) =>
      log.error({ folder, reason }, "a working folder could not be removed, the next worker start retries"),
    onHidden: (folders) =>
      log.warn({ folders }, "folders newly hidden from commands; running commands may still see them"),
    refuseExposed: env.refuseExposed,
    ...(launch ? { launch } : {}),
    ...(dropIsolation() ? { isolation: "group" } : {}),
  });
}
