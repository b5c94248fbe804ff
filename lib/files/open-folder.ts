import { existsSync } from "node:fs";
import { constants, type FileHandle, open, readlink, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const HAS_DESCRIPTORS = existsSync("/proc/self/fd");
/** Of Linux: only a place to go on from, which takes the right to enter a folder, not the one to list it. */
const O_PATH = HAS_DESCRIPTORS ? 0o10000000 : 0;
const FOLDER = O_DIRECTORY | O_NOFOLLOW;
const DEEPEST = 500;

/** Why a path is not opened, apart from what the file system itself says. */
export type PathRefusal = "link" | "moved" | "too-deep";

export class PathRefusedError extends Error {
  override readonly name = "PathRefusedError";

  constructor(readonly refusal: PathRefusal) {
    super(`the path is refused: ${refusal}`);
  }
}

/** A folder that is held open: what its names mean does not change when a folder above it is moved or replaced. */
export interface OpenFolder {
  readonly handle: FileHandle;
  /** Where it was when it was opened. */
  readonly path: string;
}

/** What was opened below a folder, and the folders on the way to it, without the first. */
export interface OpenedBelow {
  readonly last: OpenFolder;
  readonly way: readonly FileHandle[];
  close(): Promise<void>;
}

/**
 * Opens a folder by its real path, every part of which may be a folder only: a link that takes the place of one of them
 * meanwhile is noticed.
 * @throws PathRefusedError `moved`; errors of the file system
 */
export async function openFolder(realPath: string): Promise<OpenFolder> {
  const handle = await open(realPath, O_PATH | FOLDER);
  try {
    await expectPlace(handle, realPath);
    return { handle, path: realPath };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Opens a file or folder below an open folder, part by part, and follows no link on the way, whoever puts one there
 * meanwhile. On a system without `/proc/self/fd` the parts are opened by their names, and where the last one is is
 * looked at afterwards. Does not wait for the other end of a pipe. A `folder` need not be readable: it is a place to go on
 * from.
 * @throws PathRefusedError; errors of the file system
 */
export async function openBelow(
  from: OpenFolder,
  relative: string,
  wanted: "contents" | "folder" = "contents",
): Promise<OpenedBelow> {
  const parts = relative === "" ? ["."] : relative.split("/");
  if (parts.length > DEEPEST) throw new PathRefusedError("too-deep");
  const way: FileHandle[] = [];
  const close = async () => void (await Promise.all(way.map((handle) => handle.close())));
  try {
    let at = from;
    for (const [index, part] of parts.entries()) {
      const isRead = index === parts.length - 1 && wanted === "contents";
      const handle = await openPart(at, part, isRead ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK : O_PATH | FOLDER);
      way.push(handle);
      at = { handle, path: part === "." ? at.path : join(at.path, part) };
    }
    if (!HAS_DESCRIPTORS) await expectPlace(at.handle, at.path);
    return { last: at, way, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The path by which an entry of an open folder is reached, also when the folder's own path means another one by now. */
export function entryPath({ handle, path }: OpenFolder, name: string): string {
  return `${HAS_DESCRIPTORS ? descriptorPath(handle.fd) : path}/${name}`;
}

/** The path that means an open file in the process that holds it under this number; null where there is none. */
export const descriptorPath = (fd: number): string | null => (HAS_DESCRIPTORS ? `/proc/self/fd/${fd}` : null);

async function openPart(at: OpenFolder, part: string, flags: number): Promise<FileHandle> {
  const path = entryPath(at, part);
  return open(path, flags).catch(async (error: NodeJS.ErrnoException) => {
    // A link where a folder is wanted is "not a folder" for the kernel.
    const isLink = error.code === "ELOOP" || (error.code === "ENOTDIR" && (await readlink(path).catch(() => null)));
    throw isLink ? new PathRefusedError("link") : error;
  });
}

/** @throws PathRefusedError unless what is open is what lies at its path, and no part of the path is a link */
async function expectPlace(handle: FileHandle, path: string): Promise<void> {
  const opened = descriptorPath(handle.fd);
  if (opened !== null) {
    if ((await readlink(opened)) !== path) throw new PathRefusedError("moved");
    return;
  }
  const [own, there, real] = await Promise.all([handle.stat(), stat(path), realpath(path)]);
  if (real !== path) throw new PathRefusedError("link");
  if (own.ino !== there.ino || own.dev !== there.dev) throw new PathRefusedError("moved");
}

/** Whether a real path is a real root or lies below it. */
export function contains(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
