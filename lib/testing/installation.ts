import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { plainEnvironment, waitFor } from "./processes";

const READY = /Leasehold is ready .*:\s+(\S+)/;

export interface NpmRun {
  readonly child: ChildProcess;
  output(): string;
  /** Exit code of npm, or the signal that ended it. */
  readonly exited: Promise<number | string>;
  /** Signals npm's own process, as `kill` does. */
  signal(name: NodeJS.Signals): void;
  /** Signals the whole process group, as Ctrl-C in a terminal does. */
  signalGroup(name: NodeJS.Signals): void;
}

/**
 * Runs an npm script of this folder in a process group of its own, with the given settings and none of the machine's.
 */
export function npm(args: readonly string[], env: Readonly<Record<string, string>> = {}): NpmRun {
  const cli = process.env.npm_execpath;
  const [program, first] = cli ? [process.execPath, [cli]] : ["npm", []];
  const child = spawn(program, [...first, ...args], {
    env: { ...plainEnvironment(), ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const exited = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);
  const pid = child.pid ?? 0;
  return {
    child,
    output: () => output,
    exited,
    signal: (name) => void process.kill(pid, name),
    signalGroup: (name) => void process.kill(-pid, name),
  };
}

/** Waits until `npm start` has printed its URL, and returns it. */
export async function urlOf(run: NpmRun, withinMs = 120_000): Promise<string> {
  let ended: number | string | undefined;
  void run.exited.then((how) => {
    ended = how;
  });
  const found = () => {
    const url = READY.exec(run.output())?.[1];
    if (!url && ended !== undefined) throw new Error(`npm start ended (${ended}):\n${run.output()}`);
    return url;
  };
  return waitFor(found, { withinMs, what: "the URL of npm start" });
}

export interface ProcessLine {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Returns living processes whose environment or command line contains the text. Linux only. */
export function processesAbout(text: string): ProcessLine[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const command = read(name, "cmdline").replaceAll("\0", " ").trim();
      if (command === "" || !`${command}\0${read(name, "environ")}`.includes(text)) return [];
      return [{ pid: Number(name), parent: Number(read(name, "stat").split(") ")[1]?.split(" ")[1]), command }];
    });
}

export const hasProc = existsSync("/proc/self/environ");

function read(pid: string, file: string): string {
  try {
    return readFileSync(path.join("/proc", pid, file), "utf8");
  } catch {
    return ""; // the process ended meanwhile
  }
}
