import { type ChildProcess, fork } from "node:child_process";
import { environmentForPipe, type HeldSecrets, sendSecrets } from "@/lib/env/secret-source.mjs";
import type { Execution, StopReason } from "@/lib/execution";
import type { ClaimedJob } from "@/lib/queue/worker";
import { killGroup } from "../lease/kill-group";
import type { FromQuarantine, Launch, ToQuarantine } from "./quarantine-protocol";

/** With a smaller heap, the process could not even start. */
const LEAST_HEAP_MB = 64;

/** Descriptor of the pipe with the secrets in the process. */
const SECRETS_PIPE = 4;

export interface QuarantineProcessOptions {
  /** Program that the process runs. */
  readonly program: URL | string;
  /** Heap in MB; 0 means Node's default. */
  readonly memoryMb: number;
  readonly secrets: Pick<HeldSecrets, "values" | "files">;
  readonly launch: Launch;
}

/** How a process ended. */
export interface QuarantineEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** A child of the worker that runs one handler at a time. It leads its own process group. */
export class QuarantineProcess {
  private readonly child: ChildProcess;
  /** Resolves when the process is gone, or could not be started. */
  readonly exited: Promise<QuarantineEnd>;
  /** False when the process ended before it was ready. */
  readonly ready: Promise<boolean>;

  constructor({ program, memoryMb, secrets, launch }: QuarantineProcessOptions) {
    const memory = memoryMb > 0 ? [`--max-old-space-size=${Math.max(LEAST_HEAP_MB, memoryMb)}`] : [];
    this.child = fork(program, {
      serialization: "advanced",
      detached: true,
      execArgv: [...process.execArgv, "--enable-source-maps", ...memory],
      env: environmentForPipe(SECRETS_PIPE),
      stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"],
    });
    this.exited = new Promise((resolve) => {
      this.child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
      this.child.on("error", () => {
        if (this.child.pid === undefined) resolve({ exitCode: null, signal: null });
      });
    });
    // Without a free descriptor, a child that was not started has no streams either.
    if (this.child.pid !== undefined) sendSecrets(this.child, SECRETS_PIPE, secrets);
    this.send({ type: "start", launch });
    this.ready = Promise.race([
      new Promise<boolean>((resolve) => this.child.once("message", () => resolve(true))),
      this.exited.then(() => false),
    ]);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Runs one attempt. Resolves with its execution, or with how the process ended if that came first. */
  run(
    attempt: { readonly job: ClaimedJob; readonly isNoted: boolean },
    onSpawned: (pid: number) => void,
  ): Promise<Execution | QuarantineEnd> {
    return new Promise((resolve) => {
      const hear = (message: FromQuarantine) => {
        if (message.type === "spawned") onSpawned(message.pid);
        if (message.type !== "ended") return;
        this.child.off("message", hear);
        resolve(message.execution);
      };
      this.child.on("message", hear);
      void this.exited.then(resolve);
      this.send({ type: "run", ...attempt });
    });
  }

  stop(reason: StopReason): void {
    this.send({ type: "stop", reason });
  }

  /** Disconnects the process. An idle process then exits; a busy one gives its job back first. */
  release(): void {
    if (this.child.connected) this.child.disconnect();
  }

  kill(): void {
    killGroup(this.pid);
  }

  private send(message: ToQuarantine): void {
    if (this.child.connected) this.child.send(message, () => undefined);
  }
}
