import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PROCESS_ROLES, type ProcessName, processSecrets } from "@/lib/env/process-secrets.mjs";
import { environmentLines } from "@/lib/env/secret-source.mjs";

/**
 * Writes `<folder>/<process>/secrets.env` for web, worker and scheduler: exactly the secrets that the process needs,
 * readable by this user alone. Readers never see a half-written file.
 */
export function writeSecretFiles(folder: string, given: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(PROCESS_ROLES) as ProcessName[]) {
    const file = path.join(folder, name, "secrets.env");
    const half = `${file}.${process.pid}.tmp`;
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(half, environmentLines(processSecrets(name, given).values), { mode: 0o600 });
    renameSync(half, file);
  }
}
