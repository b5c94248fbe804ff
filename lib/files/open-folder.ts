/*
 * Opens files below a folder without following links, even links that another process creates at the same time. Paths
 * are resolved part by part from an open folder, so renaming a folder above cannot redirect them.
 */

import { existsSync } from "node:fs";
import { constants, type FileHandle, open, readlink, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const HAS_DESCRIPTORS = existsSync("/proc/self/fd");
/** On Linux, opens a folder as a starting point only, which needs the permission to enter it and not to list it. */
const O_PATH = HAS_DESCRIPTORS ? 0o10000000 : 0;
const FOLDER = O_DIRECTORY | O_NOFOLLOW;
const DEEPEST = 500;

/** Why a path is refused, besides errors of the file system. */
export type PathRefusal = "link" | "moved" | "too-deep";

export class PathRefusedError extends Error {
  override readonly name = "PathRefusedError";

  constructor(readonly refusal: PathRefusal) {
    super(`the path is refused: ${refusal}`);
  }
}

/** An open folder. It stays the same when a folder above it is moved or replaced. */
export interface OpenFolder {
  readonly handle: FileHandle;
  /** Its path when it was opened. */
  readonly path: string;
}

/** The opened file or folder, and the folders on the way to it, without the starting folder. */
export interface OpenedBelow {
  readonly last: OpenFolder;
  readonly way: readonly FileHandle[];
  close(): Promise<void>;
}

/**
 * Opens a folder by its real path. Refuses it if a part of that path was replaced by a link in the meantime.
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
 * Opens a file or folder below an open folder, part by part. Follows no link on the way, even one created meanwhile. On
 * a system without `/proc/self/fd`, parts are opened by name, and the path of the last one is checked afterwards. Does
 * not wait for the other end of a named pipe. With `wanted` = "folder" the last part need not be readable.
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

/** Returns a path to an entry of an open folder that still works when another folder is at the folder's own path. */
export function entryPath({ handle, path }: OpenFolder, name: string): string {
  return `${HAS_DESCRIPTORS ? descriptorPath(handle.fd) : path}/${name}`;
}

/** Returns the path of an open file in the process that holds this descriptor; null on systems without such paths. */
export const descriptorPath = (fd: number): string | null => (HAS_DESCRIPTORS ? `/proc/self/fd/${fd}` : null);

async function openPart(at: OpenFolder, part: string, flags: number): Promise<FileHandle> {
  const path = entryPath(at, part);
  return open(path, flags).catch(async (error: NodeJS.ErrnoException) => {
    // For a link in place of a folder, the kernel returns ENOTDIR.
    const isLink = error.code === "ELOOP" || (error.code === "ENOTDIR" && (await readlink(path).catch(() => null)));
    throw isLink ? new PathRefusedError("link") : error;
  });
}

/** @throws PathRefusedError unless the open folder or file is still at its path, and no part of the path is a link */
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

/** Returns true if a real path is a real root or below it. */
export function contains(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
