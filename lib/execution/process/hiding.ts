import { realpathSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";

/** What commands must not find although the user that they run as could read it, as real paths. */
export interface Hidden {
  /** The program `mount`. */
  readonly mount: string;
  /** Folders that are empty for a command, but for what is kept in them. */
  readonly folders: readonly { readonly path: string; readonly kept: readonly string[] }[];
  /** Files that are empty for a command. */
  readonly files: readonly string[];
}

export interface HidingPlan {
  /** Folders to hide, such as LEASEHOLD_HOME. */
  readonly folders: readonly string[];
  /** Files that hold secrets. */
  readonly files: readonly string[];
  /** Folders that commands work on or run from. What does not exist is left out. */
  readonly kept: readonly string[];
}

/**
 * Decides what is hidden as a whole. A secret file takes its folder with it, unless commands need something there or the
 * folder is one of the system's: the folder stays hidden when the file is replaced while a command runs, the file alone
 * would not.
 */
export function planHiding(plan: HidingPlan, mount: string): Hidden {
  const kept = outermost(plan.kept.flatMap(realOf));
  const files = [...new Set(plan.files.flatMap(realOf))];
  const isNeeded = (folder: string) => kept.some((path) => isWithin(path, folder)) || folder.split(sep).length < 3;
  const ofFiles = files.map((file) => dirname(file)).filter((folder) => !isNeeded(folder));
  const folders = outermost([...plan.folders.flatMap(realOf), ...ofFiles]).filter((folder) => folder !== sep);
  return {
    mount,
    folders: folders.map((path) => ({ path, kept: kept.filter((one) => isWithin(one, path)) })),
    files: files.filter(
      (file) => !folders.some((folder) => isWithin(file, folder)) || kept.some((k) => isWithin(file, k)),
    ),
  };
}

/** The shell names descriptors with one digit; the last one is for its own use. */
const LAST_FD = 8;
const OWN_FD = 9;

interface Job {
  readonly folder: string;
  /** The descriptors that the command inherits besides those of its own, from `first` on. */
  readonly first: number;
  readonly inherited: number;
}

/**
 * Returns the command line that hides, in the mount namespace in which it starts, and goes on as the rest of the line. The
 * job's folder stays where it is. Open folders are opened anew in this namespace, because the way up from them would lead
 * past what is hidden; the line fails if another one has taken the place of one of them.
 * @throws RangeError if the command inherits too many descriptors
 */
export function hiding(hidden: Hidden, { folder: jobFolder, first, inherited }: Job): string[] {
  if (first + inherited - 1 > LAST_FD) throw new RangeError(`a command can be given ${LAST_FD - first + 1} open files`);
  const own = realOf(jobFolder);
  const steps = hidden.folders.flatMap(({ path, kept }) =>
    hideFolder(path, outermost([...kept, ...own.filter((folder) => isWithin(folder, path))])),
  );
  for (const file of hidden.files.map(quote)) steps.push(`[ ! -e ${file} ] || "$mount" -c --bind /dev/null ${file}`);
  const again = Array.from({ length: inherited }, (_, index) => openAgain(first + index));
  const then = ["unset mount folder at", 'exec "$@"'];
  const script = ["set -e", "mount=$1 folder=$2", "shift 2", ...steps, ...again, 'cd "$folder"', ...then].join("\n");
  return ["/bin/sh", "-c", script, "leasehold-job", hidden.mount, jobFolder];
}

// The shell stays in the folder while an empty file system is laid over it, so what is kept can be put back in there by its
// relative path. Descriptors are not used: they are the command's.
function hideFolder(path: string, kept: readonly string[]): string[] {
  return [
    `cd ${quote(path)}`,
    `"$mount" -c -t tmpfs -o size=64k,nr_inodes=128,mode=755 none ${quote(path)}`,
    ...kept.map((one) => {
      const from = quote(`./${relative(path, one)}`);
      const to = quote(one);
      return `[ ! -e ${from} ] || { PATH=/usr/bin:/bin mkdir -p ${to}; "$mount" -c --rbind ${from} ${to}; }`;
    }),
  ];
}

function openAgain(fd: number): string {
  const [given, own] = [fd, OWN_FD].map((n) => `/proc/self/fd/${n}`);
  return [
    `if [ -d ${given} ]; then at=$(PATH=/usr/bin:/bin readlink ${given})`,
    `exec ${OWN_FD}<"$at"; [ ${own} -ef ${given} ]; exec ${fd}<&${OWN_FD} ${OWN_FD}<&-; fi`,
  ].join("\n");
}

function realOf(path: string): string[] {
  try {
    return [realpathSync(resolve(path))];
  } catch {
    return [];
  }
}

/** Those that lie in none of the others. */
const outermost = (paths: readonly string[]): string[] =>
  [...new Set(paths)].filter((path) => !paths.some((other) => other !== path && isWithin(path, other)));

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

const quote = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;
