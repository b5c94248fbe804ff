import { realpathSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, relative, resolve, sep } from "node:path";
import { contains } from "@/lib/files/open-folder";
import { JobError } from "../errors";
import { type Mount, writableMounts } from "./read-only";

/** A folder that is another, nearly empty one for commands. */
interface Cover {
  readonly path: string;
  /** What lies in it for commands too. */
  readonly kept: readonly string[];
  /** Each command has a folder of its own there, to write into. */
  readonly isScratch: boolean;
}

/** A folder of a plan, and its real path; null while it does not exist. */
interface Place {
  readonly name: string;
  readonly path: string | null;
}

/** What a command must not find although the user that it runs as could read it, as real paths of one moment. */
export interface Hidden {
  /** The program `mount`. */
  readonly mount: string;
  /** In the order in which they are covered: one may lie in what another one keeps. */
  readonly covers: readonly Cover[];
  /** Files that are empty for a command. */
  readonly files: readonly string[];
  /** What is made read-only for a command that has the worker's user; null for other users. */
  readonly locked: Locked | null;
  /** The folders to hide. A command does not start if one of them leads elsewhere by then. */
  readonly places: readonly Place[];
}

interface Locked {
  readonly mounts: readonly Mount[];
  /** Folders that stay as they are, besides the command's own. */
  readonly except: readonly string[];
}

export interface HidingPlan {
  /** Folders to hide, such as LEASEHOLD_HOME and the roots of providers. */
  readonly folders: readonly string[];
  /** Files that hold secrets. */
  readonly files: readonly string[];
  /** Folders that each command has for itself, such as /tmp. */
  readonly scratch: readonly string[];
  /** Folders that commands run from, or may use. What does not exist is left out. */
  readonly kept: readonly string[];
  /**
   * Commands have the worker's user. All files are read-only for them but those of their own folder, of `scratch` and of
   * these folders: otherwise they could change the programs of the worker and of each other.
   */
  readonly readOnlyExcept?: readonly string[];
}

/**
 * Decides what is hidden as a whole, by where the paths lead at this moment. A secret file takes its folder with it, unless
 * commands need something there or the folder is one of the system's: the folder stays hidden when the file is replaced
 * while a command runs, the file alone would not.
 * @throws JobError if a folder leads to the root of the file system, which cannot be hidden
 */
export async function planHiding(plan: HidingPlan, mount: string): Promise<Hidden> {
  const [kept, files, ownToEach, places] = await Promise.all([
    realPaths(plan.kept).then(outermost),
    realPaths(plan.files),
    realPaths(plan.scratch),
    Promise.all(plan.folders.map(placeOf)),
  ]);
  const folders = places.flatMap(({ path }) => path ?? []);
  if (folders.includes(sep)) throw new JobError(UNHIDEABLE, { errorType: "temporary_resource" });
  const isNeeded = (folder: string) => kept.some((path) => contains(folder, path)) || folder.split(sep).length < 3;
  const ofFiles = files.map((file) => dirname(file)).filter((folder) => !isNeeded(folder));
  const wanted = [...new Set([...ownToEach, ...folders, ...ofFiles])].filter((path) => path !== sep);
  const covers: Cover[] = [];
  for (const path of wanted.sort((one, other) => one.length - other.length)) {
    if (isHiddenBy(covers, path) || kept.includes(path)) continue;
    covers.push({ path, kept: kept.filter((one) => contains(path, one)), isScratch: ownToEach.includes(path) });
  }
  const locked = plan.readOnlyExcept ? await lockedFor(covers, plan.readOnlyExcept) : null;
  return { mount, covers, files: files.filter((file) => !isHiddenBy(covers, file)), locked, places };
}

async function lockedFor(covers: readonly Cover[], folders: readonly string[]): Promise<Locked> {
  const [mounts, except] = await Promise.all([writableMounts(), realPaths(folders)]);
  const isLocked = ({ path }: Mount) => !isHiddenBy(covers, path) && !except.some((one) => contains(one, path));
  return { mounts: mounts.filter(isLocked), except };
}

const UNHIDEABLE = "a folder that commands must not see leads to the root of the file system";

/** Whether nothing is left of what lies at a path. */
export const isHiddenBy = (covers: readonly Cover[], path: string): boolean =>
  covers.some((cover) => contains(cover.path, path) && !cover.kept.some((one) => contains(one, path)));

/** Something that is open in the worker, and lies at its own path for the command as well. */
export interface Shared {
  readonly path: string;
  readonly isFolder: boolean;
  readonly isWritable: boolean;
}

/** Files and folders that a command can be given: the shell names descriptors with one digit, and has one for its own use. */
export const MOST_SHARED = 4;
const OWN_FD = 9;

interface Job {
  readonly folder: string;
  /** What the command inherits besides its own descriptors, from `first` on. */
  readonly first: number;
  readonly shared: readonly Shared[];
}

/**
 * Returns a command line that hides these paths in the mount namespace in which it starts, and then runs the command appended
 * to it. The job's folder stays where it is. What is shared and would be hidden is put back at its path, read-only unless said
 * otherwise, and its descriptor closed; what is not hidden is opened again, because the way up from a descriptor of the
 * worker would lead past what is hidden. The line fails with exit code 75 when something else has taken the place of what
 * is shared or hidden since it was looked at.
 */
export function hiding(hidden: Hidden, { folder: jobFolder, first, shared }: Job): string[] {
  const { mount, covers, files, locked, places } = hidden;
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
    ...places.map(expectPlace),
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

// The shell stays in the folder while an empty file system is laid over it, so what is kept can be put back in there by its
// relative path. Descriptors are not used: they are the command's.
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

// Comes after the covers: a folder that was made, or whose link was changed, since the look lies where nothing covers it.
function expectPlace({ name, path }: Place): string {
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
    // A redirection that fails would end the shell with another exit code.
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

async function placeOf(name: string): Promise<Place> {
  const place = resolve(name);
  return { name: place, path: await realpath(place).catch(() => null) };
}

const realPaths = async (names: readonly string[]): Promise<string[]> => [
  ...new Set((await Promise.all(names.map(placeOf))).flatMap(({ path }) => path ?? [])),
];

/** Those that lie in none of the others. */
const outermost = (paths: readonly string[]): string[] =>
  [...new Set(paths)].filter((path) => !paths.some((other) => other !== path && contains(other, path)));

const quote = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;
