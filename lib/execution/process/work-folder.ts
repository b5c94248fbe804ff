import { createHash } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { RunAs } from "./run-as";

const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

/** Makes a job's own empty folder, which only the user that runs the command can enter. */
export async function makeWorkFolder(root: string, runAs: RunAs | null): Promise<string> {
  const folder = await mkdtemp(join(root, `job-${host}-${process.pid}-`));
  await chmod(folder, 0o700);
  if (runAs) await chown(folder, runAs.uid, runAs.gid);
  return folder;
}

/** Removes a job's folder, whatever the job left in it. Does not throw: a rest is swept when a worker starts. */
export async function removeWorkFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 }).catch(async () => {
    // Folders whose own mode forbids emptying them.
    await openUp(folder).catch(() => undefined);
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  });
}

async function openUp(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await openUp(join(folder, entry.name));
  }
}

/** Makes the folder for the jobs' folders, and removes what workers left there that died without a chance to do it. */
export async function prepareWorkRoot(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o755 });
  await chmod(root, 0o755);
  for (const name of await readdir(root)) {
    const owner = new RegExp(`^job-${host}-(\\d+)-`).exec(name)?.[1];
    if (owner && !isAlive(Number(owner))) await removeWorkFolder(join(root, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
