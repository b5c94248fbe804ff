import { spawn } from "node:child_process";
import { startTimer } from "../timer";
import { bareEnvironment } from "./bare-environment";
import { findProgram } from "./find-program";
import { ProcessGroup } from "./group";
import { type HidingPlan, planHiding } from "./hiding";
import { isLack, lackOf, type ProbeEnd } from "./probe-lack";
import type { RunAs } from "./run-as";
import { type Isolation, LIFELINE_FD, supervised } from "./supervisor";
import { tenantUser } from "./tenant-user";

export interface IsolationOptions {
  readonly runAs: RunAs | null;
  /** Paths that commands must not see although their user could read them. */
  readonly hide: HidingPlan;
  /** An existing folder that stays visible. */
  readonly folder: string;
  /**
   * `user` isolates as an ordinary user would; `group` uses no namespace; `plain` uses no helper program, as on a
   * machine without any.
   */
  readonly mode?: "best" | "user" | "group" | "plain";
}

const PROBE_SECONDS = 15;

/**
 * Finds the strongest isolation that works here, by trying it, because containers differ in what they forbid.
 * @throws JobError if a folder to hide leads to the root of the file system
 * @throws JobError, or the system's error, if the machine lacks processes, memory or descriptors at the moment
 */
export async function detectIsolation({ runAs, hide, folder, mode = "best" }: IsolationOptions): Promise<Isolation> {
  const programs = { unshare: null, setpriv: null, prlimit: null, ionice: null };
  const plain: Isolation = { namespace: null, userNamespace: false, hidden: null, ...programs, runAs, ownUsers: false };
  if (mode === "plain") return plain;
  const unshare = mode !== "group" && process.platform === "linux" ? findProgram("unshare") : null;
  const setpriv = findProgram("setpriv");
  const prlimit = findProgram("prlimit");
  const mount = findProgram("mount");
  const hidden = mount ? await planHiding(hide, mount) : null;
  const weak = { ...plain, ionice: process.platform === "linux" ? findProgram("ionice") : null };
  const strong = { ...weak, unshare, setpriv, prlimit, userNamespace: hasWorkersUser(mode) };
  const ladder: Isolation[] = [
    { ...strong, namespace: "unshare-with-proc", hidden },
    { ...strong, namespace: "unshare", hidden },
    { ...strong, namespace: "unshare-with-proc" },
    { ...strong, namespace: "unshare" },
    { ...weak, setpriv, prlimit },
    { ...weak, prlimit },
    { ...weak, setpriv },
    weak,
  ];
  // Within the namespace only setpriv can change the user, because entering it needs root.
  const possible = ladder
    .filter((step) => !step.namespace || (unshare && (setpriv || !runAs)))
    // A container may map only a few user ids.
    .flatMap((step) =>
      runAs && step.setpriv && !(step.namespace && step.userNamespace) ? [{ ...step, ownUsers: true }, step] : [step],
    );
  for (const step of possible) if (await works(step, folder)) return step;
  return plain;
}

/** Whether commands are isolated in a user namespace, and so have the user that starts them. */
export const hasWorkersUser = (mode: IsolationOptions["mode"]): boolean => mode === "user" || process.getuid?.() !== 0;

async function works(isolation: Isolation, folder: string): Promise<boolean> {
  const { file, args, options } = supervised({
    isolation: { ...isolation, runAs: tenantUser(isolation, "") },
    command: ["/bin/sh", "-c", "exit 0"],
    mark: "-",
    folder,
    shared: [],
    limits: {},
  });
  const stdio = ["ignore", "ignore", "pipe", "ignore", "pipe"] as const;
  const child = spawn(file, args, { ...options, cwd: "/", env: bareEnvironment(), stdio: [...stdio] });
  let said = "";
  // Without a free descriptor, a child that was not started has no streams either.
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const timer = startTimer(PROBE_SECONDS, () => child.kill("SIGKILL"));
  const { status, signal } = await new Promise<Pick<ProbeEnd, "status" | "signal">>((resolve, reject) =>
    child
      .once("exit", (code, killed) => resolve({ status: code, signal: killed }))
      .once("error", (error) => (isLack(error) ? reject(error) : resolve({ status: null, signal: null }))),
  ).finally(timer.cancel);
  if (child.pid === undefined) return false;
  await new ProcessGroup(child.pid, { mark: "-", searchesMarks: false }).kill(1000);
  child.stdio[LIFELINE_FD]?.destroy();
  await closed;
  const lack = lackOf({ status, signal, said }, isolation);
  if (lack) throw lack;
  return status === 0;
}

/**
 * Returns what commands could read or change of the worker and of other tenants' commands, for the worker's log; null if
 * nothing.
 */
export function exposureOf(isolation: Isolation): string | null {
  const exposed = isolation.runAs ? exposedToOtherUser(isolation) : exposedToWorkersUser(isolation);
  return exposed.length > 0 ? exposed.join("; ") : null;
}

function exposedToWorkersUser({ userNamespace, namespace, hidden }: Isolation): string[] {
  const files = "every file that the worker's user can read, those with secrets among them";
  if (!userNamespace || !namespace)
    return [
      `the environment, memory and open files of the worker and of every other process of its user, and ${files}`,
    ];
  const processes = "the list of all processes, and change settings of the worker's process in /proc";
  return [...(namespace === "unshare-with-proc" ? [] : [processes]), ...(hidden ? [] : [files])];
}

/** The kernel keeps another user out of the worker, but not out of what all users can read. */
function exposedToOtherUser({ namespace, hidden, ownUsers }: Isolation): string[] {
  const processes = "the list of all processes with their arguments";
  const peers = "the environment, memory and open files of other tenants' commands";
  const files = "files of all tenants that the commands' user can read, such as those in PROVIDER_ROOTS and /tmp";
  const seesProcesses = namespace !== "unshare-with-proc";
  return [
    ...(seesProcesses ? [processes] : []),
    ...(seesProcesses && !ownUsers ? [peers] : []),
    ...(hidden ? [] : [files]),
  ];
}

/**
 * Describes the isolation for the worker's banner and page, such as `pid-namespace, user per tenant, private-mounts,
 * no-new-privs, limits`.
 */
export function describeIsolation(isolation: Isolation): string {
  const { namespace, userNamespace, hidden, setpriv, prlimit, runAs, ownUsers } = isolation;
  const user = runAs && (ownUsers ? "user per tenant" : `user ${runAs.name}`);
  const parts = [namespace ? "pid-namespace" : "process-group", user ?? "own user"];
  if (userNamespace && namespace) parts.push("user-namespace");
  if (namespace === "unshare") parts.push("shared-proc");
  if (hidden) parts.push("private-mounts");
  if (setpriv) parts.push("no-new-privs");
  if (prlimit) parts.push("limits");
  return parts.join(", ");
}
