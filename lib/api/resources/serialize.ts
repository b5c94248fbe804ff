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
    tenant_id: job.tenant_id,
    definition_id: job.definition_id,
    definition_key: job.definition_key,
    definition_version: job.definition_version,
    queue: job.queue,
    status: job.status,
    source: job.source,
    source_ref: job.source_ref,
    priority: job.priority,
    tags: [...job.tags],
    dedupe_key: job.dedupe_key,
    correlation_id: job.correlation_id,
    parent_job_id: job.parent_job_id,
    retried_from_id: job.retried_from_id,
    scheduled_for: iso(job.scheduled_for),
    queued_at: iso(job.queued_at),
    started_at: isoOrNull(job.started_at),
    finished_at: isoOrNull(job.finished_at),
    expires_at: isoOrNull(job.expires_at),
    attempt_count: job.attempt_count,
    max_attempts: job.max_attempts,
    run_no: job.run_no,
    timeout_seconds: job.timeout_seconds,
    lease_expires_at: isoOrNull(job.lease_expires_at),
    claimed_by_worker: job.claimed_by_worker,
    cancel_requested_at: isoOrNull(job.cancel_requested_at),
    progress: job.progress,
    last_error: maskShown(job.last_error),
    error_type: job.error_type,
    created_by: job.created_by,
    wait_reason: job.wait_reason && waitReason(job.wait_reason),
  };
}

/** Serializes a list of jobs in turns, because 200 errors of 16 KiB take long to mask. */
export const serializeJobRows = (jobs: readonly JobView[]): Promise<JobRow[]> => mapInTurns(jobs, serializeJobRow);

function waitReason({ code, detail, until }: NonNullable<JobView["wait_reason"]>) {
  return { code, detail, ...(until ? { until: iso(until) } : {}) };
}

/** Serializes a job with all its fields. */
export function serializeJob(job: JobView): Job {
  return {
    ...serializeJobRow(job),
    payload: job.payload ?? null,
    metadata: job.metadata ?? {},
    result: job.result ?? null,
    retried_by_id: job.retried_by_id ?? null,
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
  job_id: edge.job_id,
  edge_no: edge.edge_no,
  definition_key: edge.definition_key,
  status: edge.status,
  type: edge.type,
  condition: edge.condition,
  as: edge.as,
  state: edge.state,
  on_parent_failure: edge.on_parent_failure,
});

export function serializeDependencies(view: DependenciesView): JobDependencies {
  return {
    parents: view.parents.map(serializeEdge),
    children: view.children.map(serializeEdge),
    has_more_children: view.has_more_children,
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
    const error_text = await masked(attempt.error_text);
    const stdout_tail = await masked(attempt.stdout_tail);
    all.push(serializeAttempt(attempt, { error_text, stdout_tail, stderr_tail: await masked(attempt.stderr_tail) }));
  }
  await turns.next();
  return all;
}

type MaskedTexts = Pick<Attempt, "error_text" | "stdout_tail" | "stderr_tail">;

function serializeAttempt(attempt: AttemptView, texts: MaskedTexts): Attempt {
  return {
    id: `${attempt.job_id}:${attempt.attempt_no}`,
    job_id: attempt.job_id,
    attempt_no: attempt.attempt_no,
    run_no: attempt.run_no,
    worker_id: attempt.worker_id,
    status: attempt.status,
    claimed_at: isoOrNull(attempt.claimed_at),
    started_at: isoOrNull(attempt.started_at),
    finished_at: isoOrNull(attempt.finished_at),
    duration_ms: attempt.duration_ms,
    pid: attempt.pid,
    exit_code: attempt.exit_code,
    signal: attempt.signal,
    error_type: attempt.error_type,
    ...texts,
    stdout_bytes: attempt.stdout_bytes,
    stderr_bytes: attempt.stderr_bytes,
    dropped_bytes: attempt.dropped_bytes,
    cpu_ms: attempt.cpu_ms,
    peak_rss_bytes: attempt.peak_rss_bytes,
    retry_at: isoOrNull(attempt.retry_at),
    progress: attempt.progress,
  };
}

function serializeLogLine(line: LogLine): LogEntry {
  const { seq, stream, level } = line;
  const body = maskGuesses(line.body);
  return { attempt_no: line.attempt_no, seq, stream, level, at: iso(line.at), body, context: line.context ?? null };
}

/**
 * Serializes a page of output in turns, because masking takes long. `after` is the reader's current position; an empty
 * page returns it as `next_after`.
 */
export async function serializeLogPage(page: LogPageView, after: string | undefined): Promise<LogPage> {
  const last = page.lines.at(-1);
  return {
    data: await mapInTurns(page.lines, serializeLogLine),
    next_after: last ? `${last.attempt_no}:${last.seq}` : (after ?? null),
    has_more: page.hasMore,
    running: page.running || page.hasMore,
  };
}

export function serializeArtifact(artifact: ArtifactView): Artifact {
  return {
    id: artifact.id,
    job_id: artifact.job_id,
    run_no: artifact.run_no,
    attempt_no: artifact.attempt_no,
    name: artifact.name,
    content_type: artifact.content_type,
    size: artifact.size,
    sha256: artifact.sha256,
    created_at: iso(artifact.created_at),
  };
}

/** Serializes a page of steps; `next_after` is null after the last step. */
export function serializeSteps({ steps, hasMore }: StepsPage): StepList {
  const last = hasMore ? steps.at(-1) : undefined;
  return { data: steps.map(serializeStep), next_after: last ? `${last.run_no}:${last.name}` : null };
}

function serializeStep(step: StepView): Step {
  return {
    name: step.name,
    run_no: step.run_no,
    attempt_no: step.attempt_no,
    created_at: iso(step.created_at),
    result: (step.result ?? null) as Step["result"],
    result_bytes: step.result_bytes,
    result_omitted: !step.is_shown,
  };
}

export function serializeSummary(summary: JobSummaryView): JobSummary {
  return {
    counts: { ...summary.counts },
    oldest_queued_age_seconds: summary.oldest_queued_age_seconds,
    running_count: summary.running_count,
    as_of: iso(summary.as_of),
  };
}

export function serializeDefinition(definition: DefinitionView): Definition {
  return {
    id: definition.id,
    key: definition.key,
    description: definition.description,
    executor: definition.executor,
    command_key: definition.command_key,
    queue: definition.queue,
    arg_schema: { ...definition.arg_schema },
    timeout_seconds: definition.timeout_seconds,
    max_attempts: definition.max_attempts,
    lease_seconds: definition.lease_seconds,
    kill_grace_seconds: definition.kill_grace_seconds,
    retry: {
      strategy: definition.retry.strategy ?? null,
      delay_seconds: definition.retry.delay_seconds ?? null,
      multiplier: definition.retry.multiplier ?? null,
      max_delay_seconds: definition.retry.max_delay_seconds ?? null,
      jitter: definition.retry.jitter ?? null,
    },
    retry_classes: retryClassesOut(definition.retry_classes),
    dead_letter: definition.dead_letter,
    is_active: definition.is_active,
    version: definition.version,
    created_at: iso(definition.created_at),
    updated_at: iso(definition.updated_at),
  };
}

export function serializeWorker(worker: WorkerView): Worker {
  return {
    worker_id: worker.worker_id,
    hostname: worker.hostname,
    pid: worker.pid,
    version: worker.version,
    label: worker.label,
    queues: [...worker.queues],
    definitions: [...worker.definitions],
    capacity: worker.capacity,
    running_count: worker.running_count,
    status: worker.status,
    last_seen_at: iso(worker.last_seen_at),
    age_seconds: worker.age_seconds,
    started_at: iso(worker.started_at),
    health_port: worker.health_port,
    isolation: worker.isolation,
    tz_version: worker.tz_version,
    cpu_percent: worker.cpu_percent,
    rss_bytes: worker.rss_bytes,
    event_loop_lag_ms: worker.event_loop_lag_ms,
  };
}

/** Returns the time-zone data versions of living processes and of this web process. */
export function serializeTzVersions(uses: readonly TzUse[], own: string | null): WorkerList["tz_versions"] {
  const all = uses.some(({ tz_version }) => tz_version === own)
    ? uses
    : [...uses, { tz_version: own, workers: 0, schedulers: 0 }];
  return all.map((use) => ({ ...use, web: use.tz_version === own ? 1 : 0 }));
}
