import { realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { JobError } from "./errors";
import { isWellFormed } from "./unicode";

const LONGEST_PATH_BYTES = 64 * 1024;

/**
 * Brings a path inside some root into one form: no slash at either end, no empty or `.` part; "" is the root itself.
 * A leading slash means the root. Throws an `invalid_input` {@link JobError} for `..`, NUL and broken Unicode.
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
  /** Folders one of which must hold the root itself. */
  readonly allowedRoots: readonly string[];
}

/**
 * The real path of something inside a root, links resolved. Throws a {@link JobError}: `not_found`, `permission`, or
 * `invalid_input` when the path leads out of the root, or the root out of all allowed ones.
 */
export async function resolveInside({ root, relative, allowedRoots }: RootedPath): Promise<string> {
  const inside = normalizeRelative(relative);
  const realRoot = await real(root, "the provider's folder");
  const roots = await Promise.all(allowedRoots.map((allowed) => realpath(allowed).catch(() => null)));
  if (!roots.some((allowed) => allowed !== null && contains(allowed, realRoot))) {
    throw new JobError("the provider's folder is not inside one of PROVIDER_ROOTS", { errorType: "permission" });
  }
  const found = await real(inside === "" ? realRoot : join(realRoot, inside), "the path");
  if (!contains(realRoot, found)) throw invalid("the path leads out of the provider's folder");
  return found;
}

/** Throws a {@link JobError} unless the path is what is expected. */
export async function expectKind(path: string, kind: "file" | "folder"): Promise<void> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw pathError(error, "the path");
  });
  if (kind === "file" ? !info.isFile() : !info.isDirectory()) throw invalid(`the path is not a ${kind}`);
}

const TEMPORARY: readonly unknown[] = ["EIO", "EMFILE", "ENFILE", "ENOMEM", "ESTALE", "EBUSY"];

/**
 * The {@link JobError} for an error of the file system: what is wrong with `what`, such as "the path", in words that hold no
 * path of the machine. It is tried again where the machine is at fault, not the path.
 */
export function pathError({ code }: NodeJS.ErrnoException, what: string): JobError {
  if (code === "ENOENT" || code === "ENOTDIR")
    return new JobError(`${what} does not exist`, { errorType: "not_found" });
  if (code === "EACCES" || code === "EPERM") return new JobError(`${what} cannot be read`, { errorType: "permission" });
  const errorType = TEMPORARY.includes(code) ? "temporary_resource" : "invalid_input";
  return new JobError(`${what} cannot be used (${code})`, { errorType });
}

async function real(path: string, what: string): Promise<string> {
  return realpath(path).catch((error: NodeJS.ErrnoException) => {
    throw pathError(error, what);
  });
}

function contains(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function invalid(message: string): JobError {
  return new JobError(message, { errorType: "invalid_input" });
}
