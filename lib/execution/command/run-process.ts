import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { withDeadline } from "@/lib/async/deadline";
import type { AttemptCapture } from "../output/attempt-capture";
import { readPaced } from "../output/read-paced";
import { bareEnvironment } from "../process/bare-environment";
import { ProcessGroup } from "../process/group";
import { closeBoth, closeTheirs, openPipes, type Pipe, streamOf } from "../process/pipes";
import { coverStrays } from "../process/stray-descriptors";
import type { Isolation } from "../process/supervisor";
import { type ResourceLimits, supervised } from "../process/supervisor";
import { type CommandUsage, UsageMeter } from "../process/usage";
import type { StopReason } from "../types";
import { FrameSink, type FrameSinkOptions, type SentResult } from "./frame-sink";
import type { InheritedFiles } from "./inherited-files";
import { type StopPlan, Stopper } from "./stopper";

export interface ProcessPlan {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Files and folders that the command inherits open, besides its own descriptors. */
  readonly inherited: InheritedFiles;
  readonly stdin: string | null;
  readonly isolation: Isolation;
  readonly limits: ResourceLimits;
  readonly capture: AttemptCapture;
  readonly frames: FrameSinkOptions;
  readonly stop: Omit<StopPlan, "onStop">;
  readonly onSpawn?: ((pid: number) => void) | undefined;
}

export interface OverMemory {
  readonly bytes: number;
  readonly limitMb: number;
}

export interface ProcessResult {
  readonly pid?: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly usage?: CommandUsage;
  readonly stoppedBy: StopReason | null;
  /** Set if the command was killed because its processes together exceeded their memory limit. */
  readonly overMemory?: OverMemory;
  readonly result: SentResult | null;
  /** Set if the command asked to run again later. */
  readonly snooze?: FrameSink["snooze"];
  /** An unreadable frame on fd 3 that the outcome depends on. */
  readonly lost: string | null;
  /** Files that the command wants to keep. */
  readonly artifacts?: FrameSink["artifacts"]["all"];
  /** Why no process was started, as an error code. */
  readonly spawnError?: string;
}

/** How long processes that the command left behind may still write after its end. Then they are killed. */
const DRAIN_MS = 1000;
const LAST_BYTES_MS = 500;
const KILL_WITHIN_MS = 5000;
const MIB = 1024 * 1024;

/**
 * Runs one command to its end and leaves no process of it behind. Resolves after its output was read; never rejects.
 */
export async function runProcess(plan: ProcessPlan): Promise<ProcessResult> {
  const sink = new FrameSink(plan.frames);
  const started = await start(plan);
  if ("error" in started) return { stoppedBy: null, result: null, lost: null, spawnError: codeOf(started.error) };
  const { pid, exit, streams } = started;
  plan.capture.stdout.beginProcess();
  plan.capture.stderr.beginProcess();
  plan.onSpawn?.(pid);
  const group = new ProcessGroup(pid, { mark: plan.folder, searchesMarks: plan.isolation.namespace === null });
  const stopper = new Stopper(group, { ...plan.stop, onStop: () => plan.frames.rows?.discard() });
  let overMemory: OverMemory | undefined;
  const limitMb = plan.limits.total_memory_mb ?? Number.POSITIVE_INFINITY;
  const onExceeded = (bytes: number) => {
    if (stopper.reason !== null) return;
    overMemory = { bytes, limitMb };
    void group.kill(KILL_WITHIN_MS);
  };
  const meter = new UsageMeter(pid, { bytes: limitMb * MIB, onExceeded });
  const output = readOutput(streams, plan, sink);
  const { exitCode, signal } = await exit;
  const usage = meter.stop();
  await withDeadline(Promise.all([output.streams, output.frames]), DRAIN_MS);
  // Before the rest is read, because nothing watches the memory of processes that outlive the command.
  await group.kill(KILL_WITHIN_MS);
  await readRest(output, { sink, stopper });
  stopper.dispose();
  await withDeadline(Promise.all([output.streams, output.frames]), LAST_BYTES_MS);
  for (const stream of Object.values(streams)) stream?.destroy();
  plan.capture.stdout.endOfProcess();
  plan.capture.stderr.endOfProcess();
  const result = await sink.takeResult();
  return {
    pid,
    ...(exitCode === null ? {} : { exitCode }),
    ...(signal === null ? {} : { signal }),
    ...(usage === undefined ? {} : { usage }),
    stoppedBy: stopper.reason,
    ...(overMemory === undefined ? {} : { overMemory }),
    result,
    snooze: sink.snooze,
    lost: sink.lost,
    artifacts: sink.artifacts.all,
  };
}

/** Our ends of the pipes. The watcher ends when `lifeline` is closed, with this process at the latest. */
interface Streams {
  readonly stdin: Socket | undefined;
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly frames: Socket;
  readonly lifeline: Socket;
}

interface Started {
  readonly pid: number;
  readonly exit: Promise<{ readonly exitCode: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly streams: Streams;
}

async function start(plan: ProcessPlan): Promise<Started | { readonly error: unknown }> {
  const owner = plan.isolation.runAs;
  const output = { direction: "out", owner } as const;
  // Only the watcher reads it, so the command does not own it.
  const watched = { direction: "in", owner: null } as const;
  const input = plan.stdin === null ? [] : [{ direction: "in", owner } as const];
  let pipes: readonly Pipe[] = [];
  let child: ChildProcess;
  let exit: Started["exit"];
  try {
    pipes = await openPipes(plan.folder, [output, output, output, watched, ...input]);
    child = spawned(plan, pipes);
    // Before anything is awaited, because a command may end at once.
    exit = exitOf(child);
    if (child.pid === undefined) throw (await once(child, "error").catch((reason: unknown) => [reason]))[0];
  } catch (error) {
    for (const pipe of pipes) await closeBoth(pipe);
    return { error };
  }
  child.on("error", () => undefined);
  await Promise.all(pipes.map(closeTheirs));
  const [stdout, stderr, frames, lifeline, stdin] = pipes.map(streamOf) as [Socket, Socket, Socket, Socket, Socket?];
  // A command may end without reading its input, and the watcher may end unnoticed.
  for (const stream of [stdin, lifeline]) stream?.on("error", () => undefined);
  stdin?.end(plan.stdin ?? "");
  return { pid: child.pid, exit, streams: { stdin, stdout, stderr, frames, lifeline } };
}

/** Starts the command with its ends of the pipes. */
function spawned(plan: ProcessPlan, pipes: readonly Pipe[]): ChildProcess {
  const { file, args, options } = supervised({ ...plan, mark: plan.folder, shared: plan.inherited.shared });
  const [stdout, stderr, frames, lifeline, stdin] = pipes.map(({ theirs }) => theirs);
  const own = [stdin ?? "ignore", stdout, stderr, frames, lifeline] as const;
  const given = [...own, ...plan.inherited.descriptors];
  // Invalid arguments throw at once; a program that cannot be started emits an event.
  return spawn(file, args, {
    ...options,
    cwd: plan.folder,
    env: bareEnvironment(plan.env),
    shell: false,
    stdio: [...given, ...coverStrays(given.length)],
  });
}

interface OutputReading {
  /** Resolves when standard output and standard error have ended. */
  readonly streams: Promise<unknown>;
  readonly frames: Promise<void>;
}

function readOutput(streams: Streams, { capture }: ProcessPlan, sink: FrameSink): OutputReading {
  const ended = (["stdout", "stderr"] as const).map((name) =>
    readPaced(streams[name], (bytes) => capture[name].push(bytes)),
  );
  return { streams: Promise.all(ended), frames: sink.read(streams.frames) };
}

function exitOf(child: ChildProcess): Started["exit"] {
  return new Promise((resolve) => child.once("exit", (exitCode, signal) => resolve({ exitCode, signal })));
}

/** Waits for frames that were sent already, for as long as a handler takes rows or the next frame follows soon. */
async function readRest(
  { frames }: OutputReading,
  { sink, stopper }: { sink: FrameSink; stopper: Stopper },
): Promise<void> {
  let isRead = false;
  void frames.then(() => {
    isRead = true;
  });
  const deadline = performance.now() + DRAIN_MS;
  // Without a namespace a process may survive and go on sending, so an attempt that was stopped is not waited for.
  const latest = () => (stopper.reason === null ? Math.max(deadline, sink.lastActivity + DRAIN_MS) : deadline);
  while (!isRead && (sink.isBlocked || performance.now() < latest())) await withDeadline(frames, DRAIN_MS / 10);
}

function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" ? code : "unknown";
}
