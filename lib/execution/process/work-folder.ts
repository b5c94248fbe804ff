import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readdir, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { FolderRemover } from "./folder-remover";
import type { RunAs } from "./run-as";

/** A worker renews its mark this often. */
const MARK_EVERY_MS = 60_000;
/** A worker of another machine or container whose mark is older is dead. */
const SILENT_MS = 15 * 60_000;

const orNone = (read: () => string): string => {
  try {
    return read();
  } catch {
    return "";
  }
};

/**
 * Where a process id names one process: a host since its boot and, in a container, the namespace of process ids.
 * Containers may share a hostname and the working folders, and each has a process 1.
 */
export const PROCESS_SPACE = createHash("sha256")
  .update(hostname())
  .update(orNone(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")))
  .update(orNone(() => readlinkSync("/proc/self/ns/pid")))
  .digest("hex")
  .slice(0, 8);
/** This process. An earlier one may have had the same process id. */
const SELF = `${PROCESS_SPACE}-${process.pid}-${randomBytes(4).toString("hex")}`;
const OWNER = /^(?:job|worker)-(([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{8})(?:-|$)/;

/** Makes a job's own empty folder, which only the user that runs the command can enter. */
export async function makeWorkFolder(root: string, runAs: RunAs | null): Promise<string> {
  const folder = await mkdtemp(join(root, `job-${SELF}-`));
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
  if (code !== null && code !== "ENOENT") remover.add(folder);
}

/**
 * Makes the folder that contains the jobs' folders, with this worker's mark. Folders of workers that died are removed
 * in another process, without waiting for it.
 */
export async function prepareWorkRoot(root: string, remover: FolderRemover): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o755 });
  await chmod(root, 0o755);
  await renewMark(root);
  await removeLeftFolders(root, remover);
}

/** A full drive may have no room for the mark. Left folders are removed then, too, and the mark is tried each minute. */
async function renewMark(root: string): Promise<void> {
  const now = new Date();
  const mark = markOf(root, SELF);
  await utimes(mark, now, now)
    .catch(() => writeFile(mark, "", { mode: 0o600 }))
    .catch(() => undefined);
}

/**
 * Renews this worker's mark every minute, and looks for folders of workers that died meanwhile, until the returned
 * function is called. That function removes the mark.
 */
export function keepWorkRoot(root: string, remover: FolderRemover): () => Promise<void> {
  const timer = setInterval(() => {
    renewMark(root)
      .then(() => removeLeftFolders(root, remover))
      // The root was removed. The next job makes it again.
      .catch(() => undefined);
  }, MARK_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await rm(markOf(root, SELF), { force: true }).catch(() => undefined);
  };
}

const markOf = (root: string, owner: string): string => join(root, `worker-${owner}`);

async function removeLeftFolders(root: string, remover: FolderRemover): Promise<void> {
  const names = await readdir(root);
  const isDead = new Map<string, boolean>();
  for (const name of names) {
    const [, owner, space, pid] = OWNER.exec(name) ?? [];
    if (owner === undefined || owner === SELF) continue;
    if (!isDead.has(owner)) {
      const isHere = space === PROCESS_SPACE;
      isDead.set(owner, isHere ? !isAlive(Number(pid)) : await isSilent(markOf(root, owner)));
    }
    if (!isDead.get(owner)) continue;
    if (name.startsWith("job-")) remover.add(join(root, name));
    else await rm(join(root, name), { force: true });
  }
}

/** Another process with this one's id has ended. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** True if a worker has not renewed its mark for 15 minutes. By then its leases have ended, unless they last longer. */
async function isSilent(mark: string): Promise<boolean> {
  const changed = await stat(mark).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NEGATIVE_INFINITY,
  );
  return Date.now() - changed > SILENT_MS;
}
