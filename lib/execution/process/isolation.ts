import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { startTimer } from "../timer";
import { bareEnvironment } from "./bare-environment";
import { ProcessGroup } from "./group";
import type { RunAs } from "./run-as";
import { type Isolation, LIFELINE_FD, supervised } from "./supervisor";

export interface IsolationOptions {
  readonly runAs: RunAs | null;
  /** `plain` leaves out every helper program, as on a machine that has none. */
  readonly mode?: "best" | "group" | "plain";
}

const PROBE_SECONDS = 5;
const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

function program(name: string): string | null {
  return FOLDERS.map((folder) => `${folder}/${name}`).find((path) => existsSync(path)) ?? null;
}

/** Finds the strongest isolation that works here, by trying it: containers forbid what they please. */
export async function detectIsolation({ runAs, mode = "best" }: IsolationOptions): Promise<Isolation> {
  const plain: Isolation = { namespace: null, unshare: null, setpriv: null, prlimit: null, runAs };
  if (mode === "plain") return plain;
  const unshare = mode === "best" && process.getuid?.() === 0 ? program("unshare") : null;
  const setpriv = program("setpriv");
  const prlimit = program("prlimit");
  const ladder: Isolation[] = [
    { ...plain, unshare, setpriv, prlimit, namespace: "unshare-with-proc" },
    { ...plain, unshare, setpriv, prlimit, namespace: "unshare" },
    { ...plain, setpriv, prlimit },
    { ...plain, prlimit },
    { ...plain, setpriv },
  ];
  // Within the namespace the user can only be changed by setpriv, since entering it takes root.
  const possible = ladder.filter((step) => !step.namespace || (unshare && (setpriv || !runAs)));
  for (const step of possible) if (await works(step)) return step;
  return plain;
}

async function works(isolation: Isolation): Promise<boolean> {
  const { file, args, options } = supervised({
    isolation,
    command: ["/bin/sh", "-c", "exit 0"],
    mark: "-",
    limits: {},
  });
  const stdio = ["ignore", "ignore", "ignore", "ignore", "pipe"] as const;
  const child = spawn(file, args, { ...options, cwd: "/", env: bareEnvironment(), stdio: [...stdio] });
  const timer = startTimer(PROBE_SECONDS, () => child.kill("SIGKILL"));
  const status = await new Promise<number | null>((resolve) =>
    child.once("exit", resolve).once("error", () => resolve(null)),
  );
  timer.cancel();
  if (child.pid !== undefined) await new ProcessGroup(child.pid, { mark: "-", searchesMarks: false }).kill(1000);
  child.stdio[LIFELINE_FD]?.destroy();
  return status === 0;
}

/** For the worker's banner and page, such as `pid-namespace, user nobody, no-new-privs, limits`. */
export function describeIsolation({ namespace, setpriv, prlimit, runAs }: Isolation): string {
  const parts = [namespace ? "pid-namespace" : "process-group", runAs ? `user ${runAs.name}` : "own user"];
  if (setpriv) parts.push("no-new-privs");
  if (prlimit) parts.push("limits");
  return parts.join(", ");
}
