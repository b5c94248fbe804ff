import type {
  Artifact,
  Attempt,
  Definition,
  DependencyEdge,
  Job,
  JobDependencies,
  JobRow,
  JobSummary,
  LogEntry,
  LogPage,
  Step,
  StepList,
  Worker,
  WorkerList,
} from "@/lib/contract";
import { maskGuesses, maskShown } from "@/lib/execution/output/guesses";
import type {
  ArtifactView,
  AttemptView,
  DefinitionView,
  DependenciesView,
  DependencyView,
  Enqueued,
  JobSummary as JobSummaryView,
  JobView,
  LogLine,
  LogPage as LogPageView,
  StepsPage,
  StepView,
  TzUse,
  WorkerView,
} from "@/lib/queue/types";
import { mapInTurns, Turns } from "@/lib/turns";
import { retryClassesOut } from "./retry-classes";

const iso = (at: Date): string => at.toISOString();
const isoOrNull = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Serializes a job as lists show it. Masks its error, so serialize a list in turns: {@link serializeJobRows}. */
export function serializeJobRow(job: JobView): JobRow {
  return {
    id: job.id,
    tenant_id: job.tenantId,
    definition_id: job.definitionId,
    definition_key: job.definitionKey,
    definition_version: job.definitionVersion,
    queue: job.queue,
    status: job.status,
    source: job.source,
    source_ref: job.sourceRef,
    priority: job.priority,
    tags: [...job.tags],
    dedupe_key: job.dedupeKey,
    correlation_id: job.correlationId,
    parent_job_id: job.parentJobId,
    retried_from_id: job.retriedFromId,
    scheduled_for: iso(job.scheduledFor),
    queued_at: iso(job.queuedAt),
    started_at: isoOrNull(job.startedAt),
    finished_at: isoOrNull(job.finishedAt),
    expires_at: isoOrNull(job.expiresAt),
    attempt_count: job.attemptCount,
    max_attempts: job.maxAttempts,
    run_no: job.runNo,
    timeout_seconds: job.timeoutSeconds,
    lease_expires_at: isoOrNull(job.leaseExpiresAt),
    claimed_by_worker: job.claimedByWorker,
    cancel_requested_at: isoOrNull(job.cancelRequestedAt),
    progress: job.progress,
    last_error: maskShown(job.lastError),
    error_type: job.errorType,
    created_by: job.createdBy,
    wait_reason: job.waitReason && waitReason(job.waitReason),
  };
}

/** Serializes a list of jobs in turns, because 200 errors of 16 KiB take long to mask. */
export const serializeJobRows = (jobs: readonly JobView[]): Promise<JobRow[]> => mapInTurns(jobs, serializeJobRow);

function waitReason({ code, detail, until }: NonNullable<JobView["waitReason"]>) {
  return { code, detail, ...(until ? { until: iso(until) } : {}) };
}

/** Serializes a job with all its fields. */
export function serializeJob(job: JobView): Job {
  return {
    ...serializeJobRow(job),
    payload: job.payload ?? null,
    metadata: job.metadata ?? {},
    result: job.result ?? null,
    retried_by_id: job.retriedById ?? null,
  };
}

/** Serializes the outcome of an enqueue request. */
export function serializeEnqueued(job: Enqueued) {
  return {
    id: job.jobId,
    tenant_id: job.tenantId,
    definition_key: job.definitionKey,
    status: job.status,
    deduplicated: job.deduplicated,
    queued_at: iso(job.queuedAt),
    scheduled_for: iso(job.scheduledFor),
  };
}

const serializeEdge = (edge: DependencyView): DependencyEdge => ({
  job_id: edge.jobId,
  edge_no: edge.edgeNo,
  definition_key: edge.definitionKey,
  status: edge.status,
  type: edge.type,
  condition: edge.condition,
  as: edge.as,
  state: edge.state,
  on_parent_failure: edge.onParentFailure,
});

export function serializeDependencies(view: DependenciesView): JobDependencies {
  return {
    parents: view.parents.map(serializeEdge),
    children: view.children.map(serializeEdge),
    has_more_children: view.hasMoreChildren,
  };
}

/** Serializes attempts in turns, because each may have half a megabyte of text to mask. */
export async function serializeAttempts(attempts: readonly AttemptView[]): Promise<Attempt[]> {
  const turns = new Turns();
  const masked = async (text: string | null): Promise<string | null> => {
    await turns.next();
    return maskShown(text);
  };
  const all: Attempt[] = [];
  for (const attempt of attempts) {
    const error_text = await masked(attempt.errorText);
    const stdout_tail = await masked(attempt.stdoutTail);
    all.push(serializeAttempt(attempt, { error_text, stdout_tail, stderr_tail: await masked(attempt.stderrTail) }));
  }
  await turns.next();
  return all;
}

type MaskedTexts = Pick<Attempt, "error_text" | "stdout_tail" | "stderr_tail">;

function serializeAttempt(attempt: AttemptView, texts: MaskedTexts): Attempt {
  return {
    id: `${attempt.jobId}:${attempt.attemptNo}`,
    job_id: attempt.jobId,
    attempt_no: attempt.attemptNo,
    run_no: attempt.runNo,
    worker_id: attempt.workerId,
    status: attempt.status,
    claimed_at: isoOrNull(attempt.claimedAt),
    started_at: isoOrNull(attempt.startedAt),
    finished_at: isoOrNull(attempt.finishedAt),
    duration_ms: attempt.durationMs,
    pid: attempt.pid,
    exit_code: attempt.exitCode,
    signal: attempt.signal,
    error_type: attempt.errorType,
    ...texts,
    stdout_bytes: attempt.stdoutBytes,
    stderr_bytes: attempt.stderrBytes,
    dropped_bytes: attempt.droppedBytes,
    cpu_ms: attempt.cpuMs,
    peak_rss_bytes: attempt.peakRssBytes,
    retry_at: isoOrNull(attempt.retryAt),
    progress: attempt.progress,
  };
}

function serializeLogLine(line: LogLine): LogEntry {
  const { seq, stream, level } = line;
  const body = maskGuesses(line.body);
  return { attempt_no: line.attemptNo, seq, stream, level, at: iso(line.at), body, context: line.context ?? null };
}

/**
 * Serializes a page of output in turns, because masking takes long. `after` is the reader's current position; an empty
 * page returns it as `next_after`.
 */
export async function serializeLogPage(page: LogPageView, after: string | undefined): Promise<LogPage> {
  const last = page.lines.at(-1);
  return {
    data: await mapInTurns(page.lines, serializeLogLine),
    next_after: last ? `${last.attemptNo}:${last.seq}` : (after ?? null),
    has_more: page.hasMore,
    running: page.running || page.hasMore,
  };
}

export function serializeArtifact(artifact: ArtifactView): Artifact {
  return {
    id: artifact.id,
    job_id: artifact.jobId,
    run_no: artifact.runNo,
    attempt_no: artifact.attemptNo,
    name: artifact.name,
    content_type: artifact.contentType,
    size: artifact.size,
    sha256: artifact.sha256,
    created_at: iso(artifact.createdAt),
  };
}

/** Serializes a page of steps; `next_after` is null after the last step. */
export function serializeSteps({ steps, hasMore }: StepsPage): StepList {
  const last = hasMore ? steps.at(-1) : undefined;
  return { data: steps.map(serializeStep), next_after: last ? `${last.runNo}:${last.name}` : null };
}

function serializeStep(step: StepView): Step {
  return {
    name: step.name,
    run_no: step.runNo,
    attempt_no: step.attemptNo,
    created_at: iso(step.createdAt),
    result: (step.result ?? null) as Step["result"],
    result_bytes: step.resultBytes,
    result_omitted: !step.isShown,
  };
}

export function serializeSummary(summary: JobSummaryView): JobSummary {
  return {
    counts: { ...summary.counts },
    oldest_queued_age_seconds: summary.oldestQueuedAgeSeconds,
    running_count: summary.runningCount,
    as_of: iso(summary.asOf),
  };
}

export function serializeDefinition(definition: DefinitionView): Definition {
  return {
    id: definition.id,
    key: definition.key,
    description: definition.description,
    executor: definition.executor,
    command_key: definition.commandKey,
    queue: definition.queue,
    arg_schema: { ...definition.argSchema },
    timeout_seconds: definition.timeoutSeconds,
    max_attempts: definition.maxAttempts,
    lease_seconds: definition.leaseSeconds,
    kill_grace_seconds: definition.killGraceSeconds,
    retry: {
      strategy: definition.retry.strategy ?? null,
      delay_seconds: definition.retry.delaySeconds ?? null,
      multiplier: definition.retry.multiplier ?? null,
      max_delay_seconds: definition.retry.maxDelaySeconds ?? null,
      jitter: definition.retry.jitter ?? null,
    },
    retry_classes: retryClassesOut(definition.retryClasses),
    dead_letter: definition.deadLetter,
    is_active: definition.isActive,
    version: definition.version,
    created_at: iso(definition.createdAt),
    updated_at: iso(definition.updatedAt),
  };
}

export function serializeWorker(worker: WorkerView): Worker {
  return {
    worker_id: worker.workerId,
    hostname: worker.hostname,
    pid: worker.pid,
    version: worker.version,
    label: worker.label,
    queues: [...worker.queues],
    definitions: [...worker.definitions],
    capacity: worker.capacity,
    running_count: worker.runningCount,
    status: worker.status,
    last_seen_at: iso(worker.lastSeenAt),
    age_seconds: worker.ageSeconds,
    started_at: iso(worker.startedAt),
    health_port: worker.healthPort,
    isolation: worker.isolation,
    tz_version: worker.tzVersion,
    cpu_percent: worker.cpuPercent,
    rss_bytes: worker.rssBytes,
    event_loop_lag_ms: worker.eventLoopLagMs,
  };
}

/** Returns the time-zone data versions of living processes and of this web process. */
export function serializeTzVersions(uses: readonly TzUse[], own: string | null): WorkerList["tz_versions"] {
  const all = uses.some(({ tzVersion }) => tzVersion === own)
    ? uses
    : [...uses, { tzVersion: own, workers: 0, schedulers: 0 }];
  return all.map(({ tzVersion, workers, schedulers }) => ({
    tz_version: tzVersion,
    workers,
    schedulers,
    web: tzVersion === own ? 1 : 0,
  }));
}
