import { basename } from "node:path";

const SHELLS = [
  "sh",
  "bash",
  "dash",
  "ash",
  "zsh",
  "ksh",
  "mksh",
  "fish",
  "csh",
  "tcsh",
  "rbash",
  "pwsh",
  "busybox",
  "toybox",
];
const WRAPPERS = [
  ...[
    "env",
    "xargs",
    "sudo",
    "su",
    "doas",
    "runuser",
    "chroot",
    "unshare",
    "nsenter",
    "setpriv",
    "setsid",
    "nohup",
    "nice",
  ],
  ...[
    "ionice",
    "timeout",
    "stdbuf",
    "script",
    "watch",
    "parallel",
    "expect",
    "strace",
    "ltrace",
    "gdb",
    "flock",
    "time",
  ],
  ...["systemd-run", "start-stop-daemon", "taskset", "chrt", "prlimit", "ssh", "npx", "npm", "make", "at", "batch"],
];
const INTERPRETERS = [
  ...[
    "node",
    "nodejs",
    "deno",
    "bun",
    "python",
    "pypy",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "guile",
  ],
  ...["awk", "gawk", "mawk", "nawk", "rscript", "r", "osascript", "java", "groovy", "scala", "julia", "ghci", "irb"],
];

/**
 * Returns why a program may not be a command, or null. Refuses shells and programs that start others. Accepts an
 * interpreter only with a constant absolute script as its first argument, never with code or options before it.
 */
export function refusedProgram(paths: readonly string[], firstArgument: string | undefined): string | null {
  const names = paths.map(programName);
  const shell = names.find((name) => SHELLS.includes(name));
  if (shell) return `${shell} is a shell`;
  const wrapper = names.find((name) => WRAPPERS.includes(name));
  if (wrapper) return `${wrapper} runs other programs`;
  const interpreter = names.find((name) => INTERPRETERS.includes(name));
  if (interpreter && !firstArgument?.startsWith("/")) {
    return `${interpreter} is an interpreter: its first argument must be a constant, absolute path of a script`;
  }
  return null;
}

/** True if the program runs the file that is its first argument. */
export function runsFirstArgument(paths: readonly string[]): boolean {
  return paths.some((path) => INTERPRETERS.includes(programName(path)));
}

/** Returns the name of a program without its version: `python` for `/usr/bin/python3.12`. */
const programName = (path: string): string =>
  basename(path)
    .toLowerCase()
    .replace(/-?[0-9.]{1,40}$/, "");
