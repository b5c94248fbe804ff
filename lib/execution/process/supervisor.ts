import { type Hidden, hiding, type Shared } from "./hiding";
import type { RunAs } from "./run-as";

/** How a command is fenced in on this machine. */
export interface Isolation {
  /** Processes that leave their group die with the namespace; without it only what carries the job's marks is found. */
  readonly namespace: "unshare" | "unshare-with-proc" | null;
  /** Its namespaces belong to a user namespace of its own, as those of an ordinary user do. Keeps it out of the worker. */
  readonly userNamespace: boolean;
  /** What is hidden from it in a mount namespace; null where that is not possible. */
  readonly hidden: Hidden | null;
  readonly unshare: string | null;
  readonly setpriv: string | null;
  readonly prlimit: string | null;
  /** The user of all commands, or of one tenant's. */
  readonly runAs: RunAs | null;
  /** The commands of each tenant have a user id of their own. */
  readonly ownUsers: boolean;
}

export interface ResourceLimits {
  readonly cpu_seconds?: number | undefined;
  readonly memory_mb?: number | undefined;
  /** Of all processes of the command together; the worker looks after it. */
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

/** The file descriptor whose end of file means: the worker is gone. */
export const LIFELINE_FD = 4;

// The watcher waits for the end of the lifeline, which the kernel closes with the worker, however that dies. It then
// kills what carries the job's mark in its environment (also outside the group), and last its own group, itself included.
// It ignores the signals that ask the group to stop, and holds no descriptor that would keep the job's output open.
const WATCH = [
  // Not CHLD: a shell that is told to ignore it takes the end of a child that it inherited for the end of its input.
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

// A machine that runs out of memory ends commands before it ends the worker. Not on macOS, which has no /proc.
const PREPARE = "ulimit -c 0\n{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null";
// Without a namespace the watcher must not be the command's child, which might wait for all its children to end.
const IN_GROUP = `mark=$1; shift; ${PREPARE}\n( ( ${WATCH}\n) & )\nexec "$@" 4<&-`;
// The first child after unshare is the namespace's init: when the watcher ends, the kernel kills all that is in it.
const IN_NAMESPACE = `mark=-; shift; ${PREPARE}\n( ${WATCH}\n) &\nexec "$@" 4<&-`;

/**
 * The command line that runs a command as leader of its own process group, watched over from within. Exit code and
 * signal of the command come through unchanged. `mark` is the job's working folder, or `-` where none is searched for;
 * `folder` the one that the command starts in.
 */
export function supervised(run: {
  isolation: Isolation;
  command: readonly string[];
  mark: string;
  folder: string;
  /** What the command inherits open, after the lifeline. */
  shared: readonly Shared[];
  limits: ResourceLimits;
}): Supervised {
  const { isolation, command, mark, folder, shared, limits } = run;
  const { namespace, userNamespace, hidden, unshare, setpriv, prlimit, runAs } = isolation;
  const inner = [
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
    const watched = ["/bin/sh", "-c", IN_NAMESPACE, "leasehold-job", mark, ...fork, ...leave, ...inner];
    return { file: unshare, args: [...enter, "--pid", "--", ...watched], options: { detached: true, ...user } };
  }
  return {
    file: "/bin/sh",
    args: ["-c", IN_GROUP, "leasehold-job", mark, ...inner],
    options: { detached: true, ...user },
  };
}

function mountOptions({ namespace, hidden }: Isolation): string[] {
  // Shared memory and queues of System V would outlive the command, and be there for others.
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
