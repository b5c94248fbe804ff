import { spawn } from "node:child_process";
import { chown, constants, close as fsClose, open as fsOpen, unlink } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { bareEnvironment } from "./bare-environment";
import { findProgram } from "./find-program";
import type { RunAs } from "./run-as";

const open = promisify(fsOpen);
const close = promisify(fsClose);

/** `out`: the command writes and this process reads. `in`: the other way round. */
type Direction = "in" | "out";

interface PipePlan {
  readonly direction: Direction;
  /** The user who may open the command's end again, as /dev/stdout does; null for none but this process's own. */
  readonly owner: RunAs | null;
}

/** A pipe's two open ends, as descriptors. */
export interface Pipe {
  readonly direction: Direction;
  readonly ours: number;
  readonly theirs: number;
}

/**
 * Makes pipes to a command, as named pipes in its folder that lose their names at once. Leaves none open if one fails.
 *
 * Node itself would give a command socket pairs. Over a socket a command can send an open descriptor, which the kernel
 * closes in this process: a TCP socket with SO_LINGER then blocks the event loop for as long as the command wants. A
 * pipe carries bytes only.
 * @throws Error with the code of the system, or NO_PIPES
 */
export async function openPipes(folder: string, plans: readonly PipePlan[]): Promise<readonly Pipe[]> {
  const paths = plans.map((_, at) => join(folder, `.pipe-${at}`));
  const pipes: Pipe[] = [];
  try {
    await makeFifos(paths);
    for (const [at, { direction, owner }] of plans.entries()) {
      const path = paths[at] ?? "";
      pipes.push(await openBoth(path, direction));
      if (owner) await promisify(chown)(path, owner.uid, owner.gid);
    }
    return pipes;
  } catch (error) {
    for (const pipe of pipes) await closeBoth(pipe);
    throw error;
  } finally {
    await Promise.all(paths.map((path) => promisify(unlink)(path).catch(() => undefined)));
  }
}

/** Returns our end as a stream, which closes it. */
export const streamOf = ({ direction, ours }: Pipe): Socket =>
  new Socket({ fd: ours, readable: direction === "out", writable: direction === "in" });

/** Closes the command's end here, once the command has it. */
export const closeTheirs = ({ theirs }: Pipe): Promise<void> => close(theirs);

/** Closes both ends of a pipe that has no stream. */
export async function closeBoth({ ours, theirs }: Pipe): Promise<void> {
  await Promise.all([close(ours), close(theirs)]);
}

/** Neither end waits for the other, because a third one is open meanwhile. Only our end is non-blocking. */
async function openBoth(path: string, direction: Direction): Promise<Pipe> {
  const { O_RDWR, O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  const opened: number[] = [];
  const add = async (flags: number) => {
    const fd = await open(path, flags);
    opened.push(fd);
    return fd;
  };
  try {
    const third = await add(O_RDWR | O_NONBLOCK);
    const ours = await add((direction === "out" ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
    const theirs = await add(direction === "out" ? O_WRONLY : O_RDONLY);
    await close(third);
    return { direction, ours, theirs };
  } catch (error) {
    for (const fd of opened) await close(fd);
    throw error;
  }
}

async function makeFifos(paths: readonly string[]): Promise<void> {
  const options = { cwd: "/", env: bareEnvironment(), stdio: "ignore" } as const;
  const child = spawn(findProgram("mkfifo") ?? "mkfifo", ["-m", "600", ...paths], options);
  const code = await new Promise<number | null>((resolve, reject) => child.once("exit", resolve).once("error", reject));
  if (code !== 0) throw Object.assign(new Error("mkfifo failed"), { code: "NO_PIPES" });
}
