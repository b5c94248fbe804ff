/** The shapes of queues, pauses, limits and workers. Client-safe: types only. */

/** What a queue says for jobs that come into it; null = nothing, and the installation's own default holds. */
export interface QueueSettings {
  readonly description: string;
  readonly defaultPriority: number;
  readonly timeoutSeconds: number | null;
  readonly maxAttempts: number | null;
  readonly retryDelaySeconds: number | null;
  readonly retryMultiplier: number | null;
  /** Its share of a tenant's starts, against the tenant's other queues. */
  readonly weight: number;
  readonly isActive: boolean;
}

export interface QueueView extends QueueSettings {
  readonly id: number;
  readonly name: string;
  /** Why nothing of it is started just now. */
  readonly pause: {
    readonly scope: PauseScope;
    readonly reason: string;
    readonly since: Date;
    readonly until: Date | null;
  } | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export type QueueInput = { readonly name: string } & Partial<QueueSettings>;
export type QueuePatch = Partial<QueueSettings>;

export type PauseScope = "all" | "queue" | "definition" | "tenant";

/** What holds ready jobs: a pause, or the suspension of their tenant. */
export type HoldScope = PauseScope | "suspension";

/** What is to be paused: the scope, and the name of what it is about. */
export interface PauseInput {
  readonly scope: PauseScope;
  readonly queue?: string;
  readonly definitionKey?: string;
  /** Id or slug. */
  readonly tenant?: string;
  readonly reason: string;
  readonly until?: Date;
}

export interface PauseView {
  readonly id: string;
  readonly scope: PauseScope;
  readonly queue: string | null;
  readonly definitionKey: string | null;
  /** Slug. */
  readonly tenant: string | null;
  readonly reason: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly pausedBy: string | null;
}

export type LimitScope = "queue" | "definition" | "tenant_queue" | "tenant_definition";

/** Null = not limited in this way. */
export interface LimitValues {
  readonly maxRunning: number | null;
  readonly startsPerSecond: number | null;
  /** How many may start at once after a time without starts; in any t seconds at most burst + t * startsPerSecond. */
  readonly burst: number | null;
}

/** A tenant scope without a tenant limits each tenant by itself. */
export type LimitInput = {
  readonly scope: LimitScope;
  readonly queue?: string;
  readonly definitionKey?: string;
  /** Id or slug. */
  readonly tenant?: string;
} & Partial<LimitValues>;

export interface LimitView extends LimitValues {
  readonly id: number;
  readonly scope: LimitScope;
  readonly queue: string | null;
  readonly definitionKey: string | null;
  /** Slug. */
  readonly tenant: string | null;
  /** When it last kept ready jobs from being started, to a second, and which of its numbers did. */
  readonly limitedAt: Date | null;
  readonly limitedBy: "running" | "rate" | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export type WorkerStatus = "live" | "late" | "stale" | "dead" | "draining" | "stopped";

export interface WorkerView {
  readonly workerId: string;
  readonly hostname: string;
  readonly pid: number;
  readonly version: string;
  readonly label: string;
  readonly queues: readonly string[];
  readonly definitions: readonly string[];
  readonly capacity: number;
  readonly runningCount: number;
  readonly status: WorkerStatus;
  readonly startedAt: Date;
  readonly lastSeenAt: Date;
  readonly ageSeconds: number;
  readonly healthPort: number | null;
  readonly isolation: string;
  /** Version of its time-zone data; null = unknown, or a remote worker. */
  readonly tzVersion: string | null;
  readonly cpuPercent: number | null;
  readonly rssBytes: number | null;
  readonly eventLoopLagMs: number | null;
}

/** How many living workers and schedulers compute with one version of the time-zone data. */
export interface TzUse {
  /** Null = unknown. */
  readonly tzVersion: string | null;
  readonly workers: number;
  readonly schedulers: number;
}
