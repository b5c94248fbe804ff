import type { Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

const GROUP_WRITE = 0o020;
const OTHER_WRITE = 0o002;
const STICKY = 0o1000;

/** A trusted file, and its identity when it was checked. */
export interface TrustedFile {
  /** The path as given; it may be a link. */
  readonly named: string;
  /** The real path. */
  readonly path: string;
  readonly identity: string;
}

/** A file that others could have changed, or that is not a regular file. */
export class UntrustedFileError extends Error {
  override readonly name = "UntrustedFileError";
}

/**
 * Resolves a file and refuses it if anyone but root and the current user could change it. The file must not be writable
 * by group or others, and must belong to root or to this user (to root when this is root). No folder above it may be
 * writable by everyone, unless it is sticky.
 * @throws UntrustedFileError
 */
export async function trustFile(path: string): Promise<TrustedFile> {
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    throw new UntrustedFileError(`${path} cannot be resolved (${error.code})`);
  });
  const info = await stat(real);
  if (!info.isFile()) throw new UntrustedFileError(`${path} is not a regular file`);
  if (info.mode & (GROUP_WRITE | OTHER_WRITE)) throw new UntrustedFileError(`${path} is writable by group or others`);
  if (!isTrustedOwner(info.uid))
    throw new UntrustedFileError(`${path} belongs to user ${info.uid}, who is not trusted`);
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    await trustFolder(folder);
    if (folder === dirname(folder)) break;
  }
  return { named: path, path: real, identity: identityOf(info) };
}

/**
 * Checks just before use that the path still leads to the same trusted file. Accepts a file that its trusted owner has
 * replaced (an upgrade).
 * @throws UntrustedFileError if another user could have put the file there
 */
export async function trustAgain(file: TrustedFile): Promise<void> {
  const real = await realpath(file.named).catch((error: NodeJS.ErrnoException) => {
    const what = error.code === "ENOENT" ? "is missing" : `cannot be resolved (${error.code})`;
    throw new UntrustedFileError(`${file.named} ${what} since the worker started`);
  });
  if (real !== file.path) throw new UntrustedFileError(`${file.named} leads elsewhere since the worker started`);
  if (identityOf(await stat(real)) !== file.identity) await trustFile(file.named);
}

async function trustFolder(folder: string): Promise<void> {
  const info = await lstat(folder);
  const isSticky = (info.mode & STICKY) !== 0;
  if (info.mode & OTHER_WRITE && !isSticky)
    throw new UntrustedFileError(`the folder ${folder} is writable by everybody`);
}

function isTrustedOwner(uid: number): boolean {
  const own = process.getuid?.();
  return uid === 0 || uid === own || own === undefined;
}

function identityOf(info: Stats): string {
  return [info.dev, info.ino, info.size, info.mtimeMs, info.ctimeMs, info.mode, info.uid].join(":");
}
