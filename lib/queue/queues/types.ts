/** The shapes of queues, pauses, limits and workers. Client-safe: types only. */
import type { LimitScope, PauseScope, WorkerStatus } from "../states";

export type { LimitScope, PauseScope, WorkerStatus } from "../states";

/** A queue's settings for its jobs; null = not set, so the installation's default applies. */
export interface QueueSettings {
  readonly description: string;
  readonly default_priority: number;
  readonly timeout_seconds: number | null;
  readonly max_attempts: number | null;
  readonly retry_delay_seconds: number | null;
  readonly retry_multiplier: number | null;
  /** Its share of the tenant's starts, relative to the tenant's other queues. */
  readonly weight: number;
  readonly is_active: boolean;
}

export interface Queue extends QueueSettings {
  readonly id: number;
  readonly name: string;
  /** The pause that keeps its jobs from starting. */
  readonly pause: {
    readonly scope: PauseScope;
    readonly reason: string;
    readonly since: string;
    readonly until: string | null;
  } | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export type QueueInput = { readonly name: string } & Partial<QueueSettings>;
export type QueuePatch = Partial<QueueSettings>;

/** What blocks ready jobs: a pause, or the suspension of their tenant. */
export type PauseOrSuspension = PauseScope | "suspension";

/** What to pause: the scope and the name of the target. */
export interface PauseInput {
  readonly scope: PauseScope;
  readonly queue?: string;
  readonly definition_key?: string;
  /** Id or slug. */
  readonly tenant?: string;
  readonly reason: string;
  readonly until?: string;
}

export interface Pause {
  readonly id: string;
  readonly scope: PauseScope;
  readonly queue: string | null;
  readonly definition_key: string | null;
  /** Slug. */
  readonly tenant: string | null;
  readonly reason: string;
  readonly since: string;
  readonly until: string | null;
  readonly paused_by: string | null;
}

/** Null = no limit of this kind. */
export interface LimitValues {
  readonly max_running: number | null;
  readonly starts_per_second: number | null;
  /** Starts that may begin at once after an idle time. In any t seconds, at most burst + t * starts_per_second begin. */
  readonly burst: number | null;
}

/** A tenant scope without a tenant limits each tenant separately. */
export type LimitInput = {
  readonly scope: LimitScope;
  readonly queue?: string;
  readonly definition_key?: string;
  /** Id or slug. */
  readonly tenant?: string;
} & Partial<LimitValues>;

export interface Limit extends LimitValues {
  readonly id: number;
  readonly scope: LimitScope;
  readonly queue: string | null;
  readonly definition_key: string | null;
  /** Slug. */
  readonly tenant: string | null;
  /** When the limit last kept ready jobs from starting, to the second, and which of its numbers did. */
  readonly limited_at: string | null;
  readonly limited_by: "running" | "rate" | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface Worker {
  readonly worker_id: string;
  readonly hostname: string;
  readonly pid: number;
  readonly version: string;
  readonly label: string;
  readonly queues: readonly string[];
  readonly definitions: readonly string[];
  readonly capacity: number;
  readonly running_count: number;
  readonly status: WorkerStatus;
  readonly started_at: string;
  readonly last_seen_at: string;
  readonly age_seconds: number;
  readonly health_port: number | null;
  readonly isolation: string;
  /** Version of the worker's time-zone data; null = unknown, or a remote worker. */
  readonly tz_version: string | null;
  readonly cpu_percent: number | null;
  readonly rss_bytes: number | null;
  readonly event_loop_lag_ms: number | null;
}

/** How many live workers and schedulers use one version of the time-zone data. */
export interface TzCounts {
  /** Null = unknown. */
  readonly tz_version: string | null;
  readonly workers: number;
  readonly schedulers: number;
}
