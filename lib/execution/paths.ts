import type { Stats } from "node:fs";
import { type FileHandle, realpath } from "node:fs/promises";
import { contains, type OpenFolder, openBelow, openFolder, PathRefusedError } from "@/lib/files/open-folder";
import { JobError } from "./errors";
import { mayRead, type RunAs } from "./process/run-as";
import type { OpenedPath, PathKind } from "./types";
import { isWellFormed } from "./unicode";

const LONGEST_PATH_BYTES = 64 * 1024;

/**
 * Normalizes a path inside some root: no slash at either end, no empty or `.` part; "" is the root itself. A leading
 * slash means the root.
 * @throws JobError `invalid_input` for `..`, NUL and broken Unicode
 */
export function normalizeRelative(path: string): string {
  if (path.includes("\0") || !isWellFormed(path)) throw invalid("the path holds characters that no path can hold");
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) throw invalid("the path is too long");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw invalid('the path must not contain ".."');
  return parts.join("/");
}

export interface RootedPath {
  /** The folder that the path must not leave. */
  readonly root: string;
  readonly relative: string;
  /** Folders, one of which must contain the root itself. */
  readonly allowedRoots: readonly string[];
}

/**
 * Opens a regular file or a folder inside a root for reading. The root's own path may pass through links. Below the
 * root no link is followed, even one created meanwhile.
 * @throws JobError `not_found`, `permission`, or `invalid_input` for links, other kinds of files, and a root outside
 * all allowed ones
 */
export async function openInside({ root, relative, allowedRoots }: RootedPath): Promise<OpenedPath> {
  const inside = normalizeRelative(relative);
  const folder = await openRoot(root, allowedRoots);
  const below = await openBelow(folder, inside).catch(async (error: unknown) => {
    await folder.handle.close();
    throw refusal(error, "the path");
  });
  const { handle, path } = below.last;
  const close = async () => void (await Promise.all([folder.handle.close(), below.close()]));
  try {
    const kind = kindOf(await handle.stat());
    return { handle, kind, path, way: [folder.handle, ...below.way.slice(0, -1)], close };
  } catch (error) {
    await close();
    throw error;
  }
}

function kindOf(info: Stats): PathKind {
  if (info.isFile()) return "file";
  if (info.isDirectory()) return "folder";
  throw invalid("the path is neither a file nor a folder");
}

async function openRoot(root: string, allowedRoots: readonly string[]): Promise<OpenFolder> {
  const what = "the provider's folder";
  const realRoot = await realpath(root).catch((error: NodeJS.ErrnoException) => {
    throw pathError(error, what);
  });
  const roots = await Promise.all(allowedRoots.map((allowed) => realpath(allowed).catch(() => null)));
  if (!roots.some((allowed) => allowed !== null && contains(allowed, realRoot))) {
    throw new JobError("the provider's folder is not inside one of PROVIDER_ROOTS", { errorType: "permission" });
  }
  return openFolder(realRoot).catch((error: unknown) => {
    throw refusal(error, what);
  });
}

/** @throws JobError unless the path is of the expected kind */
export function expectKind({ kind }: OpenedPath, expected: PathKind): void {
  if (kind !== expected) throw invalid(`the path is not a ${expected}`);
}

/**
 * Returns the handle of a regular file that `reader` may read (null: this process). Access is checked on the folders
 * that were opened on the way, not on their paths. Closes all other handles, and on an error all handles.
 * @throws JobError `invalid_input`, `permission`
 */
export async function readableFile(opened: OpenedPath, reader: RunAs | null): Promise<FileHandle> {
  try {
    expectKind(opened, "file");
    if (reader && !(await mayRead(reader, opened))) throw pathError({ code: "EACCES" }, "the file");
  } catch (error) {
    await opened.close();
    throw error;
  }
  await Promise.all(opened.way.map((folder) => folder.close()));
  return opened.handle;
}

const REFUSALS = {
  link: "must not pass through a symbolic link",
  "too-deep": "passes through too many folders",
} as const;

function refusal(error: unknown, what: string): JobError {
  if (!(error instanceof PathRefusedError)) return pathError(error as NodeJS.ErrnoException, what);
  if (error.refusal !== "moved") return invalid(`${what} ${REFUSALS[error.refusal]}`);
  return new JobError(`${what} was moved while it was being opened`, { errorType: "temporary_resource" });
}

const TEMPORARY: readonly unknown[] = ["EIO", "EMFILE", "ENFILE", "ENOMEM", "ESTALE", "EBUSY"];

/**
 * Returns the {@link JobError} for a file system error. Its message names `what`, such as "the path", and no path of
 * the machine. Retryable if the machine is at fault, not the path.
 */
function pathError({ code }: { readonly code?: string | undefined }, what: string): JobError {
  if (code === "ENOENT" || code === "ENOTDIR")
    return new JobError(`${what} does not exist`, { errorType: "not_found" });
  if (code === "EACCES" || code === "EPERM") return new JobError(`${what} cannot be read`, { errorType: "permission" });
  const errorType = TEMPORARY.includes(code) ? "temporary_resource" : "invalid_input";
  return new JobError(`${what} cannot be used (${code})`, { errorType });
}

function invalid(message: string): JobError {
  return new JobError(message, { errorType: "invalid_input" });
}
