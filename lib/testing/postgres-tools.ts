import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const PROGRAMS = ["initdb", "postgres", "pg_dump", "pg_restore"];
const INSTALLED = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"];
const DOWNLOAD_WITHIN_MS = 120_000;

/** A folder with a server of some version and the dump programs of that version. */
export interface PostgresTools {
  readonly binDir: string;
  /** The environment of the dump programs. */
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

/**
 * Finds the programs in PG_BIN or in an installed PostgreSQL, or downloads Debian's packages and unpacks them outside
 * the system. Returns null when none are available; the packaged server of the tests has no pg_dump.
 */
export async function findPostgresTools(): Promise<PostgresTools | null> {
  const binDir = [process.env.PG_BIN ?? "", ...installed()].find(isWhole);
  if (binDir) return { binDir, env: process.env, remove: () => {} };
  return download().catch(() => null);
}

function installed(): string[] {
  return INSTALLED.filter((folder) => existsSync(folder)).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^(postgresql@)?\d+$/.test(name))
      .sort()
      .reverse()
      .map((name) => path.join(folder, name, "bin")),
  );
}

const isWhole = (folder: string): boolean =>
  folder !== "" && PROGRAMS.every((name) => existsSync(path.join(folder, name)));

async function download(): Promise<PostgresTools | null> {
  const folder = mkdtempSync(path.join(tmpdir(), "leasehold-postgres-tools-"));
  chmodSync(folder, 0o755); // under root, the server runs as another user
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const options = { cwd: folder, timeout: DOWNLOAD_WITHIN_MS };
    const { stdout } = await run("apt-cache", ["depends", "postgresql"], options);
    const server = /postgresql-\d+/.exec(stdout)?.[0] ?? "";
    const client = server.replace("postgresql-", "postgresql-client-");
    await run("apt-get", ["download", "-qq", server, client, "libpq5"], options);
    for (const file of readdirSync(folder)) await run("dpkg", ["-x", file, folder], options);
    const binDir = path.join(folder, "usr/lib/postgresql", server.replace("postgresql-", ""), "bin");
    const libraries = readdirSync(path.join(folder, "usr/lib")).map((name) => path.join(folder, "usr/lib", name));
    const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(":") };
    for (const name of PROGRAMS) await run(path.join(binDir, name), ["--version"], { ...options, env });
    return { binDir, env, remove };
  } catch {
    // No apt, no network, or a library is missing.
  }
  remove();
  return null;
}
