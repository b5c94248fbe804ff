import { realpathSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";

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

/** The shell names descriptors with one digit; 0 to 4 are the command's. */
const FIRST_FD = 5;
const LAST_FD = 9;

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

/**
 * Returns the command line that hides, in the mount namespace in which it starts, and goes on as the rest of the line. The
 * job's folder stays where it is.
 */
export function hiding(hidden: Hidden, jobFolder: string): string[] {
  const steps = hidden.folders.flatMap(({ path, kept }) => {
    const own = isWithin(jobFolder, path) && !kept.some((one) => isWithin(jobFolder, one)) ? ['"$folder"'] : [];
    return hideFolder(quote(path), [...own, ...kept.map(quote)]);
  });
  for (const file of hidden.files.map(quote)) steps.push(`[ ! -e ${file} ] || "$mount" -c --bind /dev/null ${file}`);
  const script = ["set -e", "mount=$1 folder=$2", "shift 2", ...steps, 'cd "$folder"', 'exec "$@"'].join("\n");
  return ["/bin/sh", "-c", script, "leasehold-job", hidden.mount, jobFolder];
}

// What is kept is held by a descriptor while an empty file system is laid over the folder, and then put back in there.
function hideFolder(path: string, kept: readonly string[]): string[] {
  if (kept.length > LAST_FD - FIRST_FD + 1) throw new RangeError(`too many folders to keep in ${path}`);
  const held = kept.map((one, index) => ({ one, fd: FIRST_FD + index }));
  return [
    ...held.map(({ one, fd }) => `[ ! -e ${one} ] || exec ${fd}<${one}`),
    `"$mount" -c -t tmpfs -o size=64k,nr_inodes=128,mode=755 none ${path}`,
    ...held.map(
      ({ one, fd }) =>
        `[ ! -e /proc/self/fd/${fd} ] || { mkdir -p ${one}; "$mount" -c --rbind /proc/self/fd/${fd} ${one}; exec ${fd}<&-; }`,
    ),
  ];
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
