import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { withDeadline } from "@/lib/async/deadline";
import { bareEnvironment } from "./bare-environment";
import { REMOVE_FOLDERS } from "./remove-folder";

/** Called once for a folder that could not be removed, with the error code. */
export type OnUnremoved = (folder: string, reason: string) => void;

/** The remover's process ends after this long without work. */
const IDLE_MS = 10_000;
const START_AGAIN_MS = 1000;
/** The machine has no descriptor or process to spare now. */
const LACKS = ["EMFILE", "ENFILE", "EAGAIN"];

/**
 * Removes working folders one after another, in a low-priority process that runs while there are any. The event loop
 * and the file threads of this process take no part, so a folder with many files delays nothing else.
 */
export class FolderRemover {
  readonly #waiting = new Set<string>();
  /** Folders that are not tried again before the next start. */
  readonly #unremoved = new Set<string>();
  readonly #onUnremoved: OnUnremoved;
  #child: ChildProcess | null = null;
  #current: string | null = null;
  #idle: NodeJS.Timeout | undefined;
  #onEmpty: () => void = () => undefined;
  #isStopped = false;

  constructor(onUnremoved: OnUnremoved = () => undefined) {
    this.#onUnremoved = onUnremoved;
  }

  /** Queues a folder for removal, whatever it contains. Returns at once and does not throw. */
  add(folder: string): void {
    if (this.#isStopped || this.#unremoved.has(folder)) return;
    this.#waiting.add(folder);
    this.#next();
  }

  /** Waits at most `withinMs` for the queued folders. The next start of a worker removes the rest. */
  async stop(withinMs: number): Promise<void> {
    if (this.#waiting.size > 0) {
      const empty = new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
      await withDeadline(empty, withinMs);
    }
    this.#isStopped = true;
    clearTimeout(this.#idle);
    this.#child?.kill("SIGKILL");
  }

  #next(): void {
    if (this.#current !== null || this.#isStopped) return;
    const [folder] = this.#waiting;
    clearTimeout(this.#idle);
    if (folder === undefined) {
      this.#onEmpty();
      this.#idle = setTimeout(() => this.#leave(), IDLE_MS).unref();
      return;
    }
    this.#current = folder;
    this.#child ??= this.#start();
    this.#child.stdin?.write(`${JSON.stringify(folder)}\n`);
  }

  #leave(): void {
    this.#child?.stdin?.end();
    this.#child = null;
  }

  #start(): ChildProcess {
    const child = spawn(process.execPath, ["--eval", REMOVE_FOLDERS], {
      // Detached from the terminal's signals, because a draining worker still removes folders.
      detached: true,
      cwd: "/",
      env: bareEnvironment(),
      stdio: ["pipe", "pipe", "ignore"],
    });
    const onGone = (reason: string) => {
      if (this.#child !== child) return;
      this.#child = null;
      if (this.#current !== null) this.#ended(reason);
    };
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (LACKS.includes(error.code ?? "")) this.#startLater();
      else onGone(error.code ?? error.message);
    });
    child.once("exit", (code, signal) => onGone(`the process that removes it ended: ${signal ?? code}`));
    child.stdin?.on("error", () => undefined);
    // Without a free descriptor, a child that was not started has no streams either.
    if (child.pid === undefined) return child;
    createInterface({ input: child.stdout }).on("line", (line) => this.#ended(JSON.parse(line) as string | null));
    child.unref();
    for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref?(): void } | null)?.unref?.();
    return child;
  }

  #startLater(): void {
    this.#child = null;
    this.#current = null;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#next(), START_AGAIN_MS).unref();
  }

  #ended(problem: string | null): void {
    const folder = this.#current;
    if (folder === null || this.#isStopped) return;
    this.#current = null;
    this.#waiting.delete(folder);
    if (problem !== null) {
      this.#unremoved.add(folder);
      this.#onUnremoved(folder, problem);
    }
    this.#next();
  }
}
