import type { Database } from "@/lib/db";
import { failpoint } from "@/lib/env/test-build";
import type { Execution } from "@/lib/execution";
import type { ClaimedJob, RunnableDefinition } from "@/lib/queue";
import { AttemptOutputWriter } from "./attempt-output";
import type { Leases } from "./leases";
import { type RunTools, runAttempt } from "./run-attempt";

/** One attempt that a worker holds. */
export interface Attempt {
  readonly job: ClaimedJob;
  readonly controller: AbortController;
  /** Its process groups. */
  readonly pids: Set<number>;
}

interface Surroundings {
  readonly db: Database;
  readonly leases: Pick<Leases, "spawned">;
  readonly tools: RunTools;
  readonly logMaxBytes: number;
  /** The lease turned out to be lost. */
  readonly onLost: () => void;
}

/** Runs an attempt to its end; its output and progress are stored when this resolves. Never rejects. */
export async function executeAttempt(
  { job, controller, pids }: Attempt,
  definition: RunnableDefinition,
  { db, leases, tools, logMaxBytes, onLost }: Surroundings,
): Promise<Execution> {
  const output = new AttemptOutputWriter({ db, lease: job, laneNo: job.laneNo, mostBytes: logMaxBytes, onLost });
  const execution = await runAttempt(job, definition, {
    tools,
    hooks: {
      signal: controller.signal,
      onOutput: (stream, body) => output.write({ stream, body }),
      onProgress: (percent, message) => output.report(percent, message),
      onLog: (level, body, context) => output.write({ stream: "log", level, body, context }),
      onSpawn: (pid) => {
        pids.add(pid);
        leases.spawned(job, pid);
        failpoint("spawned");
      },
    },
  });
  await output.end();
  if (output.droppedLogBytes === 0) return execution;
  const droppedBytes = execution.output.droppedBytes + output.droppedLogBytes;
  return { ...execution, output: { ...execution.output, droppedBytes } };
}
