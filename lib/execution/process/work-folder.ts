import { createHash } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, readdir, rmdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { FolderRemover } from "./folder-remover";
import type { RunAs } from "./run-as";

const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/** The folders of jobs that run in this process. In a container an earlier worker may have had the same process id. */
const inUse = new Set<string>();

/** Makes a job's own empty folder, which only the user that runs the command can enter. */
export async function makeWorkFolder(root: string, runAs: RunAs | null): Promise<string> {
  const folder = await mkdtemp(join(root, `job-${host}-${process.pid}-`));
  inUse.add(folder);
  await chmod(folder, 0o700);
  if (runAs) await chown(folder, runAs.uid, runAs.gid);
  return folder;
}

/** Removes a job's folder: at once if it is empty, else later, in another process. Does not throw. */
export async function removeWorkFolder(folder: string, remover: FolderRemover): Promise<void> {
  const code = await rmdir(folder).then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code,
  );
  inUse.delete(folder);
  if (code !== null && code !== "ENOENT") remover.add(folder);
}

/**
 * Makes the folder that contains the jobs' folders. Folders of workers that died are removed in another process,
 * without waiting for it.
 */
export async function prepareWorkRoot(root: string, remover: FolderRemover): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o755 });
  await chmod(root, 0o755);
  for (const name of await readdir(root)) {
    const folder = join(root, name);
    const owner = new RegExp(`^job-${host}-(\\d+)-`).exec(name)?.[1];
    if (owner && !isOwned(folder, Number(owner))) remover.add(folder);
  }
}

const isOwned = (folder: string, pid: number): boolean => (pid === process.pid ? inUse.has(folder) : isAlive(pid));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
