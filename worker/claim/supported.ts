import type { Database } from "@/lib/db";
import { type KnownLane, listServable, type Servable } from "@/lib/queue/worker";

/** The queues, definitions and bands that this worker is configured for; undefined means all of them. */
export interface Wanted {
  readonly queues: readonly string[] | undefined;
  readonly definitions: readonly string[] | undefined;
  readonly bands: ReadonlySet<number> | undefined;
}

/** What this worker can run: handlers in its own code, commands on its own disk. */
export interface Known {
  hasHandler(key: string): boolean;
  hasCommand(key: string): boolean;
}

/**
 * The active definitions and queues that this worker supports. A definition unknown to this worker is left to other
 * workers, so a rolling deploy spends no attempts.
 */
export class Supported {
  /** Definition keys, sorted. */
  readonly definitions: readonly string[];
  /** The definitions' current versions, with which new jobs are accepted. */
  readonly versions: readonly { readonly definitionId: string; readonly definitionVersion: number }[];
  /** Queue names; empty means all. */
  readonly queues: readonly string[];
  private readonly leaseSeconds: ReadonlyMap<string, number>;
  private readonly webhooks: ReadonlySet<string>;
  private readonly queueIds: ReadonlySet<number>;

  private constructor(
    private readonly wanted: Wanted,
    servable: Servable,
    known: Known,
  ) {
    const { definitions, queues } = wanted;
    const mine = servable.definitions.filter(
      (definition) => (definitions === undefined || definitions.includes(definition.key)) && canRun(definition, known),
    );
    this.definitions = mine.map(({ key }) => key).toSorted();
    this.versions = mine.map(({ id, version }) => ({ definitionId: id, definitionVersion: version }));
    this.queues = queues ?? [];
    this.leaseSeconds = new Map(mine.map(({ id, leaseSeconds }) => [id, leaseSeconds]));
    this.webhooks = new Set(mine.filter(({ executor }) => executor === "webhook").map(({ id }) => id));
    this.queueIds = new Set(
      servable.queues.filter(({ name }) => queues === undefined || queues.includes(name)).map(({ id }) => id),
    );
  }

  static async read(db: Database, wanted: Wanted, known: Known): Promise<Supported> {
    return new Supported(wanted, await listServable(db), known);
  }

  supports({ definitionId, queueId, band }: KnownLane): boolean {
    return this.leaseSeconds.has(definitionId) && this.queueIds.has(queueId) && (this.wanted.bands?.has(band) ?? true);
  }

  /** True if the lane's jobs deliver webhooks. */
  isWebhook({ definitionId }: Pick<KnownLane, "definitionId">): boolean {
    return this.webhooks.has(definitionId);
  }

  /** Returns the lease length for jobs of this lane, in seconds. */
  leaseOf({ definitionId }: KnownLane): number {
    return this.leaseSeconds.get(definitionId) ?? 30;
  }
}

function canRun({ key, executor, commandKey }: Servable["definitions"][number], known: Known): boolean {
  switch (executor) {
    case "handler":
      return known.hasHandler(key);
    case "command":
      return known.hasCommand(commandKey ?? key);
    case "webhook":
      return true;
    case "remote":
      return false;
  }
}
