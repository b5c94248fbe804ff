import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";

const ANSWER_WITHIN_MS = 10 * 60_000;

interface Answer {
  readonly type: "answer";
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

export type ChildMessage = Readonly<Record<string, unknown>> & { readonly type: string };

/** A program of the benchmark in its own process, with calls and events over an IPC channel. */
export class Child {
  private readonly process: ChildProcess;
  private readonly events = new EventEmitter();
  private readonly exited: Promise<unknown>;
  private lastId = 0;
  private said = "";

  /** @param cwd the folder of its checkout, where it finds its migrations */
  constructor(program: readonly string[], env: Readonly<Record<string, string>>, cwd = process.cwd()) {
    this.process = spawn(process.execPath, [...nodeFlags(), ...program], {
      cwd,
      env: { ...ownEnvironment(), NODE_ENV: "production", ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.exited = once(this.process, "exit");
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.said = (this.said + text).slice(-4000);
      });
    this.process.on("message", (message: ChildMessage) => this.events.emit(message.type, message));
    this.process.on("error", (error) => this.events.emit("failed", error));
    void this.exited.then(() =>
      this.events.emit("failed", new Error(`${program.join(" ")} ended early: ${this.said}`)),
    );
    alive.add(this);
    void this.exited.then(() => alive.delete(this));
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  on(type: string, listener: (message: ChildMessage) => void): void {
    this.events.on(type, listener);
  }

  /** Resolves with the next message of this type. Rejects if the process ends first. */
  next(type: string): Promise<ChildMessage> {
    return new Promise((resolve, reject) => {
      const done = (settle: () => void) => {
        this.events.off(type, arrived);
        this.events.off("failed", failed);
        settle();
      };
      const arrived = (message: ChildMessage) => done(() => resolve(message));
      const failed = (error: Error) => done(() => reject(error));
      this.events.on(type, arrived);
      this.events.on("failed", failed);
    });
  }

  /** Calls an operation of the program and returns its result. */
  async call<T>(verb: string, args: unknown = {}): Promise<T> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${verb} was not answered`)), ANSWER_WITHIN_MS);
      const settle = (end: () => void) => {
        clearTimeout(timer);
        this.events.off("answer", hear);
        this.events.off("failed", reject);
        end();
      };
      const hear = (message: ChildMessage) => {
        const answer = message as unknown as Answer;
        if (answer.id !== id) return;
        settle(() => (answer.error === undefined ? resolve(answer.result as T) : reject(new Error(answer.error))));
      };
      this.events.on("answer", hear);
      this.events.on("failed", reject);
      this.process.send({ type: "call", id, verb, args });
    });
  }

  /** Sends SIGTERM and waits for the exit. */
  async stop(): Promise<void> {
    this.process.kill("SIGTERM");
    await this.exited;
  }

  /** Sends SIGKILL and waits for the exit. */
  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.exited;
  }
}

/** For profiles: BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=/tmp/profiles". */
const nodeFlags = (): string[] => process.env.BENCH_NODE_FLAGS?.split(" ").filter(Boolean) ?? [];

/** The machine's own variables, and none that configure a system under test. */
function ownEnvironment(): Record<string, string | undefined> {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, TMPDIR };
}

const alive = new Set<Child>();

/** Kills all remaining processes. For exits. */
export function killChildren(): void {
  for (const child of alive) void child.kill();
}
