import { executeCommand } from "./execute-command";
import { loadCommandRegistry, type RegistryOptions } from "./registry/load";
import { testContext } from "./test-support";

/** A worker process for tests that kill it: runs the command `task` of a registry. */
async function main([path = "", sharedFolder = "", isolation = "best", jobId = ""]: readonly string[]): Promise<void> {
  const mode = isolation as NonNullable<RegistryOptions["isolation"]>;
  const registry = await loadCommandRegistry(path, { sharedFolder, isolation: mode });
  const { ctx } = testContext({ jobId, onOutput: (_stream, text) => process.stdout.write(text) });
  await executeCommand(registry, "task", {}, ctx);
}

await main(process.argv.slice(2));
