import { realpathSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, relative, resolve, sep } from "node:path";
import { contains } from "@/lib/files/open-folder";
import { JobError } from "../errors";
import { type Mount, writableMounts } from "./read-only";

/** A folder that commands see as another, nearly empty one. */
interface Cover {
  readonly path: string;
  /** Paths in it that commands keep. */
  readonly kept: readonly string[];
  /** True if each command gets its own writable folder there. */
  readonly isScratch: boolean;
}

/** A folder of a plan, and its real path; null while it does not exist. */
interface ResolvedPath {
  readonly name: string;
  readonly path: string | null;
}

/** Paths that a command must not see although its user could read them, as real paths at one moment. */
export interface Hidden {
  /** The program `mount`. */
  readonly mount: string;
  /** In the order in which they are covered, because one may lie in a path that another one keeps. */
  readonly covers: readonly Cover[];
  /** Files that are empty for a command. */
  readonly files: readonly string[];
  /** What is read-only for a command that has the worker's user; null for other users. */
  readonly locked: Locked | null;
  /** The folders to hide. A command does not start if one of them has moved since. */
  readonly resolved: readonly ResolvedPath[];
}

interface Locked {
  readonly mounts: readonly Mount[];
  /** Folders that stay as they are, besides the command's own. */
  readonly except: readonly string[];
}

export interface HidingPlan {
  /** Folders to hide, such as LEASEHOLD_HOME and the roots of providers. */
  readonly folders: readonly string[];
  /** Files that contain secrets. */
  readonly files: readonly string[];
  /** Folders of which each command gets its own, such as /tmp. */
  readonly scratch: readonly string[];
  /** Folders that commands run from, or may use. Missing ones are skipped. */
  readonly kept: readonly string[];
  /**
   * Commands have the worker's user. All files are read-only for them but those of their own folder, of `scratch` and of
   * these folders: otherwise they could change the programs of the worker and of each other.
   */
  readonly readOnlyExcept?: readonly string[];
}

/**
 * Plans what to hide, by where the paths lead now. A secret file hides its whole folder, and that of a link to it, unless
 * commands need that folder or it is one of the system's: the folder stays hidden when the file is replaced while a
 * command runs; the file alone would not.
 * @throws JobError if a folder leads to the root of the file system, which cannot be hidden
 */
export async function planHiding(plan: HidingPlan, mount: string): Promise<Hidden> {
  const [kept, secrets, ownToEach, resolved] = await Promise.all([
    realPaths(plan.kept).then(outermost),
    secretsOf(plan.files),
    realPaths(plan.scratch),
    Promise.all(plan.folders.map(resolvedPath)),
  ]);
  const folders = resolved.flatMap(({ path }) => path ?? []);
  if (folders.includes(sep)) throw new JobError(UNHIDEABLE, { errorType: "temporary_resource" });
  const isNeeded = (folder: string) => kept.some((path) => contains(folder, path)) || folder.split(sep).length < 3;
  const { files } = secrets;
  const ofFiles = secrets.folders.filter((folder) => !isNeeded(folder));
  const wanted = [...new Set([...ownToEach, ...folders, ...ofFiles])].filter((path) => path !== sep);
  const covers: Cover[] = [];
  for (const path of wanted.sort((one, other) => one.length - other.length)) {
    if (isHiddenBy(covers, path) || kept.includes(path)) continue;
    covers.push({ path, kept: kept.filter((one) => contains(path, one)), isScratch: ownToEach.includes(path) });
  }
  const locked = plan.readOnlyExcept ? await lockedFor(covers, plan.readOnlyExcept) : null;
  return { mount, covers, files: files.filter((file) => !isHiddenBy(covers, file)), locked, resolved };
}

/** Returns the real paths of files, of their folders, and of the folders of the links that lead to them. */
async function secretsOf(names: readonly string[]) {
  const resolved = (await Promise.all(names.map(resolvedPath))).filter(({ path }) => path !== null);
  const files = [...new Set(resolved.flatMap(({ path }) => path ?? []))];
  // A link may lead elsewhere once a secret is rotated.
  const named = await realPaths(resolved.map(({ name }) => dirname(name)));
  return { files, folders: [...files.map((file) => dirname(file)), ...named] };
}

async function lockedFor(covers: readonly Cover[], folders: readonly string[]): Promise<Locked> {
  const [mounts, except] = await Promise.all([writableMounts(), realPaths(folders)]);
  const isLocked = ({ path }: Mount) => !isHiddenBy(covers, path) && !except.some((one) => contains(one, path));
  return { mounts: mounts.filter(isLocked), except };
}

const UNHIDEABLE = "a hidden folder leads to the root of the file system";

/** True if a path is completely hidden. */
export const isHiddenBy = (covers: readonly Cover[], path: string): boolean =>
  covers.some((cover) => contains(cover.path, path) && !cover.kept.some((one) => contains(one, path)));

/** A file or folder that the worker holds open, and that the command finds at its own path. */
export interface Shared {
  readonly path: string;
  readonly isFolder: boolean;
  readonly isWritable: boolean;
}

/**
 * Most files and folders that a command can be given: the shell names descriptors with one digit, and needs one itself.
 */
export const MOST_SHARED = 4;
const OWN_FD = 9;

interface Job {
  readonly folder: string;
  /** First descriptor that the command inherits besides its own. */
  readonly first: number;
  readonly shared: readonly Shared[];
}

/**
 * Returns a command line that hides these paths in the mount namespace in which it starts, and then runs the command
 * appended to it. The job's folder stays in place.
 *
 * Shared paths that would be hidden are put back at their path, read-only unless writable, and their descriptor is
 * closed. Shared paths that are not hidden are opened again, because the way up from a worker's descriptor would lead
 * past the covers. Fails with exit code 75 if a shared or hidden path was replaced since it was checked.
 */
export function hiding(hidden: Hidden, { folder: jobFolder, first, shared }: Job): string[] {
  const { mount, covers, files, locked, resolved } = hidden;
  const own = realOf(jobFolder);
  const empty = files.map(quote);
  const given = shared.map((one, index) => ({ ...one, fd: first + index, isHidden: isHiddenBy(covers, one.path) }));
  const script = [
    "set -e",
    "mount=$1 folder=$2",
    "shift 2",
    `put() { (umask 022; PATH=/usr/bin:/bin; mkdir -p "$1"); }`,
    `lock() { "$mount" -c -o remount,bind,ro "$1" || "$mount" -c -o remount,bind,ro,nosuid,nodev "$1"; }`,
    `moved() { echo "a file or folder was moved while the command started; retry the job" >&2; exit 75; }`,
    ...given.filter(({ isHidden }) => isHidden).map(openAgain),
    ...covers.flatMap((cover) => coverFolder(cover, own)),
    ...empty.map((file) => `[ ! -e ${file} ] || "$mount" -c --bind /dev/null ${file}`),
    ...resolved.map(expectUnmoved),
    ...(locked ? keepWritable(locked, [...own, ...given.flatMap(writablePath)]) : []),
    ...given.flatMap((one) => (one.isHidden ? putBack(one) : openAgain(one))),
    ...(locked ? lockAll(locked, covers) : []),
    'cd "$folder"',
    "unset mount folder at",
    'exec "$@"',
  ];
  return ["/bin/sh", "-c", script.join("\n"), "leasehold-job", mount, jobFolder];
}

const OPTIONS = {
  hidden: "size=64k,nr_inodes=1024,mode=755",
  scratch: "size=64m,nr_inodes=16384,mode=1777,nosuid,nodev",
};

// The shell stays in the folder while an empty file system is mounted over it, so kept paths can be put back by their
// relative path. Descriptors are not used, because they belong to the command.
function coverFolder({ path, kept, isScratch }: Cover, own: readonly string[]): string[] {
  const back = outermost([...kept, ...own.filter((folder) => contains(path, folder))]);
  const options = isScratch ? OPTIONS.scratch : OPTIONS.hidden;
  return [
    `cd ${quote(path)} || moved`,
    `"$mount" -c -t tmpfs -o ${options} none ${quote(path)}`,
    ...back.map((one) => {
      const from = quote(`./${relative(path, one)}`);
      const to = quote(one);
      return `[ ! -e ${from} ] || { put ${to}; "$mount" -c --rbind ${from} ${to}; }`;
    }),
  ];
}

/** The path of a folder that the command may write to, and that no cover made a mount of its own. */
const writablePath = ({ path, isHidden, isWritable }: Given & { readonly isHidden: boolean }): string[] =>
  isWritable && !isHidden ? [path] : [];

// A mount has its own flag, so each of these becomes one before what is around it is locked.
const keepWritable = ({ except }: Locked, others: readonly string[]): string[] =>
  [...except, ...others].map(quote).map((path) => `[ ! -e ${path} ] || "$mount" -c --rbind ${path} ${path}`);

// Comes last: a mount that is made of a locked one is locked, too.
function lockAll({ mounts, except }: Locked, covers: readonly Cover[]): string[] {
  const kept = covers.flatMap((cover) => cover.kept).filter((path) => !except.some((one) => contains(one, path)));
  return [
    ...kept.map(quote).map((path) => `[ ! -e ${path} ] || lock ${path}`),
    ...mounts.map(({ path, flags }) => `"$mount" -c -o ${["remount", "bind", "ro", ...flags].join()} ${quote(path)}`),
  ];
}

// Runs after the covers: a folder that was created, or whose link was changed, since the check lies outside them.
function expectUnmoved({ name, path }: ResolvedPath): string {
  const isThere = path === null ? "" : ` || [ ${quote(name)} -ef ${quote(path)} ]`;
  return `[ ! -e ${quote(name)} ]${isThere} || moved`;
}

interface Given extends Shared {
  readonly fd: number;
}

function putBack({ path, isFolder, isWritable, fd }: Given): string[] {
  const at = quote(path);
  return [
    isFolder ? `put ${at}` : `put ${quote(dirname(path))}; [ -e ${at} ] || : >${at}`,
    `"$mount" -c --bind /proc/self/fd/${fd} ${at}`,
    ...(isWritable ? [] : [`lock ${at}`]),
    `exec ${fd}<&-`,
  ];
}

function openAgain({ fd }: Given): string {
  const [given, own] = [fd, OWN_FD].map((n) => `/proc/self/fd/${n}`);
  return [
    // A failed redirection would end the shell with another exit code.
    `at=$(PATH=/usr/bin:/bin readlink ${given}); [ -r "$at" ] || moved; exec ${OWN_FD}<"$at"`,
    `[ ${own} -ef ${given} ] || moved`,
    `exec ${fd}<&${OWN_FD} ${OWN_FD}<&-`,
  ].join("\n");
}

function realOf(path: string): string[] {
  try {
    return [realpathSync(resolve(path))];
  } catch {
    return [];
  }
}

async function resolvedPath(name: string): Promise<ResolvedPath> {
  const absolute = resolve(name);
  return { name: absolute, path: await realpath(absolute).catch(() => null) };
}

const realPaths = async (names: readonly string[]): Promise<string[]> => [
  ...new Set((await Promise.all(names.map(resolvedPath))).flatMap(({ path }) => path ?? [])),
];

/** Returns the paths that lie in none of the others. */
const outermost = (paths: readonly string[]): string[] =>
  [...new Set(paths)].filter((path) => !paths.some((other) => other !== path && contains(other, path)));

const quote = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;
