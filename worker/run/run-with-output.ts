import type { Database } from "@/lib/db";
import { failpoint } from "@/lib/env/test-build";
import type { Execution, LogLevel, OutputStream, StopReason } from "@/lib/execution";
import type { Logger } from "@/lib/observability/log";
import type { ClaimedJob, RunnableDefinition } from "@/lib/queue/worker";
import type { Leases, WatchedLease } from "../lease/leases";
import { fieldsOf } from "./attempt-ends";
import { AttemptOutputWriter } from "./attempt-output";
import { AttemptContext, type RunTools, runByExecutor } from "./run-attempt";

/** One attempt of a job in flight. */
export interface AttemptToRun extends WatchedLease {
  readonly job: ClaimedJob;
  /** Why the attempt was stopped. */
  readonly stopReason: StopReason | undefined;
  /** Aborted when the attempt is stopped. */
  readonly signal: AbortSignal;
  /** When the attempt began, if a mark records it instead of its own row. */
  readonly beganAt?: number | undefined;
  /** Records a process group of the attempt. */
  spawned(pid: number): void;
}

interface Surroundings {
  readonly db: Database;
  readonly log: Logger;
  readonly leases: Pick<Leases, "spawned">;
  readonly tools: RunTools;
  readonly logMaxBytes: number;
  /** Called when the lease turns out to be lost. */
  readonly onLost: (attempt: AttemptToRun) => void;
}

/** Runs an attempt to its end; its output and progress are stored when this resolves. Never rejects. */
export async function runWithOutput(
  attempt: AttemptToRun,
  definition: RunnableDefinition,
  around: Surroundings,
): Promise<Execution> {
  const { quarantine } = around.tools;
  if (quarantine?.takes(attempt.job, definition.executor)) {
    return quarantine.run(attempt, definition, (pid) => {
      attempt.spawned(pid);
      around.leases.spawned(attempt, pid);
    });
  }
  const context = new WorkerAttempt(attempt, definition, around);
  const execution = await runByExecutor(context);
  return context.hasOutput ? withDropped(execution, await context.endOutput()) : execution;
}

function withDropped(execution: Execution, dropped: number): Execution {
  if (dropped === 0) return execution;
  return { ...execution, output: { ...execution.output, droppedBytes: execution.output.droppedBytes + dropped } };
}

class WorkerAttempt extends AttemptContext {
  #output: AttemptOutputWriter | undefined;
  readonly #attempt: AttemptToRun;
  readonly #around: Surroundings;

  constructor(attempt: AttemptToRun, definition: RunnableDefinition, around: Surroundings) {
    super(attempt.job, definition, around.tools);
    this.#attempt = attempt;
    this.#around = around;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  stopped(): StopReason | undefined {
    return this.#attempt.stopReason;
  }

  onOutput(stream: OutputStream, body: string): void {
    this.#writer().write({ stream, body });
  }

  onProgress(percent: number, message: string | null): void {
    this.#writer().report(percent, message);
  }

  onLog(level: LogLevel, body: string, context?: Readonly<Record<string, unknown>>): void {
    this.#writer().write({ stream: "log", level, body, context });
  }

  onSpawn(pid: number): void {
    this.#attempt.spawned(pid);
    this.#around.leases.spawned(this.#attempt, pid);
    this.#writer().spawned(pid);
    failpoint("spawned");
  }

  onFault(stack: string): void {
    this.#around.log.error({ ...fieldsOf(this.job, this.definition), err: { stack } }, "a shipped handler has a fault");
  }

  get hasOutput(): boolean {
    return this.#output !== undefined;
  }

  /** Stores the rest of the output. Returns how many bytes of log messages are stored nowhere. */
  async endOutput(): Promise<number> {
    await this.#output?.end();
    return this.#output?.droppedLogBytes ?? 0;
  }

  #writer(): AttemptOutputWriter {
    const { db, logMaxBytes, onLost } = this.#around;
    const attempt = this.#attempt;
    this.#output ??= new AttemptOutputWriter({
      db,
      lease: this.job,
      laneNo: this.job.laneNo,
      mostBytes: logMaxBytes,
      onLost: () => onLost(attempt),
    });
    return this.#output;
  }
}
