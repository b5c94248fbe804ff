/**
 * Starts and supervises the processes of commands. Start with `supervised`, which builds the command line.
 *
 * A watcher inside the group kills the group when the worker is gone; `ProcessGroup.kill` kills it when the command has
 * ended. A process that leaves the group dies with its namespace; without a namespace it is found by the job's mark.
 * `detectIsolation` finds the strongest isolation that the machine allows: own user, namespaces, hidden paths
 * (hiding.ts), resource limits. work-folder.ts makes and removes the working folders.
 */

import { type Hidden, hiding, type Shared } from "./hiding";
import type { RunAs } from "./run-as";

/** How commands are isolated on this machine. */
export interface Isolation {
  /**
   * Processes that leave their group die with the namespace. Without a namespace only those with the job's mark are
   * found.
   */
  readonly namespace: "unshare" | "unshare-with-proc" | null;
  /**
   * True if the namespaces belong to a separate user namespace, as those of an ordinary user do. Keeps commands out of
   * the worker.
   */
  readonly userNamespace: boolean;
  /** Paths hidden from the command in a mount namespace; null where that is not possible. */
  readonly hidden: Hidden | null;
  readonly unshare: string | null;
  readonly setpriv: string | null;
  readonly prlimit: string | null;
  readonly ionice: string | null;
  /** The user of all commands, or of one tenant's. */
  readonly runAs: RunAs | null;
  /** True if each tenant's commands have their own user id. */
  readonly ownUsers: boolean;
}

export interface ResourceLimits {
  readonly cpu_seconds?: number | undefined;
  readonly memory_mb?: number | undefined;
  /** Limit for all processes of the command together; the worker enforces it. */
  readonly total_memory_mb?: number | undefined;
  readonly file_size_mb?: number | undefined;
  readonly open_files?: number | undefined;
  readonly processes?: number | undefined;
}

export interface Supervised {
  readonly file: string;
  readonly args: string[];
  readonly options: { readonly detached: true; readonly uid?: number; readonly gid?: number };
}

/** The descriptor whose end of file means that the worker is gone. */
export const LIFELINE_FD = 4;

// The watcher waits for the end of the lifeline, which the kernel closes when the worker dies, however it dies. The
// watcher then kills every process with the job's mark in its environment, even outside the group, and last its own
// group, itself included. It ignores the signals that ask the group to stop, and holds no descriptor that would keep
// the job's output open.
const WATCH = [
  // Not CHLD: a shell that ignores it takes the end of an inherited child for the end of its input.
  'trap "" TERM INT HUP QUIT USR1 USR2',
  "exec <&4 4<&- 3>&- >/dev/null 2>&1",
  "read -r _",
  'if [ "$mark" != - ]; then',
  "read -r self _ </proc/self/stat",
  'for round in 1 2 3; do for file in $(grep -lsF "HOME=$mark" /proc/[0-9]*/environ); do',
  `pid=\${file#/proc/}; pid=\${pid%/environ}; [ "$pid" = "$self" ] || kill -KILL "$pid"; done; done`,
  "fi",
  "kill -KILL 0",
].join("\n");

// A machine out of memory ends commands before the worker. Not on macOS, which has no /proc.
const PREPARE = "ulimit -c 0\n{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null";
// Without a namespace the watcher must not be the command's child, because the command might wait for all its children.
const IN_GROUP = `mark=$1; shift; ${PREPARE}\n( ( ${WATCH}\n) & )\nexec "$@" 4<&-`;
// The first child after unshare is the namespace's init: when the watcher ends, the kernel kills all processes in it.
const IN_NAMESPACE = `mark=-; shift; ${PREPARE}\n( ${WATCH}\n) &\nexec "$@" 4<&-`;
/**
 * User namespaces of a command that has the worker's user, its own included: the kernel bounds them for each user, and
 * without them no command could start. For a shell that is root of its user namespace only.
 */
const MOST_USER_NAMESPACES = 32;
const IN_USER_NAMESPACE = `{ echo ${MOST_USER_NAMESPACES} >/proc/sys/user/max_user_namespaces; } 2>/dev/null\n${IN_NAMESPACE}`;

/**
 * Returns the command line that runs a command as leader of its own process group, with a watcher in the group. The
 * command's exit code and signal come through unchanged. `mark` is the job's working folder, or `-` if no marks are
 * searched; `folder` is where the command starts.
 */
export function supervised(run: {
  isolation: Isolation;
  command: readonly string[];
  mark: string;
  folder: string;
  /** Files and folders that the command inherits open, after the lifeline. */
  shared: readonly Shared[];
  limits: ResourceLimits;
}): Supervised {
  const { isolation, command, mark, folder, shared, limits } = run;
  const { namespace, userNamespace, hidden, unshare, setpriv, prlimit, ionice, runAs } = isolation;
  const inner = [
    ...yieldDisk(ionice),
    ...dropPrivileges(setpriv, userNamespace ? null : runAs),
    ...limitResources(prlimit, limits),
    ...command,
  ];
  const user = runAs && (userNamespace || !setpriv) ? { uid: runAs.uid, gid: runAs.gid } : {};
  if (namespace && unshare) {
    // A second unshare forks: it waits for the command and dies of the same signal.
    const hide = hidden ? hiding(hidden, { folder, first: LIFELINE_FD + 1, shared }) : [];
    const fork = [unshare, "--fork", ...mountOptions(isolation), "--", ...hide];
    // Root of the user namespace may mount; the command is its own user again, in a namespace that cannot undo it.
    const [enter, leave] = userNamespace ? [["--user", "--map-root-user"], asOwnUser(unshare, runAs)] : [[], []];
    const script = userNamespace ? IN_USER_NAMESPACE : IN_NAMESPACE;
    const watched = ["/bin/sh", "-c", script, "leasehold-job", mark, ...fork, ...leave, ...inner];
    return { file: unshare, args: [...enter, "--pid", "--", ...watched], options: { detached: true, ...user } };
  }
  return {
    file: "/bin/sh",
    args: ["-c", IN_GROUP, "leasehold-job", mark, ...inner],
    options: { detached: true, ...user },
  };
}

function mountOptions({ namespace, hidden }: Isolation): string[] {
  // Shared memory and queues of System V would outlive the command, and be visible to others.
  if (namespace === "unshare-with-proc") return ["--ipc", "--mount-proc"];
  return hidden ? ["--ipc", "--mount"] : ["--ipc"];
}

function asOwnUser(unshare: string, runAs: RunAs | null): string[] {
  const [uid, gid] = [runAs?.uid ?? process.getuid?.(), runAs?.gid ?? process.getgid?.()];
  return [unshare, "--user", `--map-user=${uid}`, `--map-group=${gid}`, "--"];
}

function dropPrivileges(setpriv: string | null, runAs: Isolation["runAs"]): string[] {
  if (!setpriv) return [];
  const user = runAs
    ? [`--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    : [];
  return [setpriv, "--no-new-privs", ...user, "--"];
}

/** Gives the command the disk when nothing else needs it; new processes inherit that. Ignores a kernel that cannot. */
const yieldDisk = (ionice: string | null): string[] => (ionice ? [ionice, "-c", "3", "-t"] : []);

const MIB = 1024 * 1024;

function limitResources(prlimit: string | null, limits: ResourceLimits): string[] {
  if (!prlimit) return [];
  const options = ["--core=0"];
  const add = (name: string, value: number | undefined) => {
    if (value !== undefined) options.push(`--${name}=${value}`);
  };
  add("cpu", limits.cpu_seconds);
  add("as", limits.memory_mb === undefined ? undefined : limits.memory_mb * MIB);
  add("fsize", limits.file_size_mb === undefined ? undefined : limits.file_size_mb * MIB);
  add("nofile", limits.open_files);
  add("nproc", limits.processes);
  return [prlimit, ...options, "--"];
}
