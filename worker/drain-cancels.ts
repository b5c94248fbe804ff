import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { canceledAttempts } from "@/lib/queue/worker";

const LOOK_EVERY_MS = 1000;

export interface DrainCancelsOptions {
  readonly db: Database;
  readonly workerId: string;
  readonly log: Logger;
  readonly onCanceled: (jobIds: readonly string[]) => void;
}

/**
 * Looks for canceled jobs of a draining worker, once a second and on `look`, from `start` to `stop`. A draining worker
 * needs this because it no longer polls for work.
 */
export class DrainCancels {
  private timer: NodeJS.Timeout | undefined;
  private looking = false;
  private again = false;

  constructor(private readonly options: DrainCancelsOptions) {}

  start(): void {
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS);
    this.look();
  }

  /** Looks at once. A no-op before `start`. */
  look(): void {
    if (!this.timer) return;
    if (this.looking) {
      this.again = true;
      return;
    }
    this.looking = true;
    void this.ask().finally(() => {
      this.looking = false;
      if (!this.again) return;
      this.again = false;
      this.look();
    });
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async ask(): Promise<void> {
    const { db, workerId, log, onCanceled } = this.options;
    try {
      const canceled = await canceledAttempts(db, workerId);
      if (canceled.length > 0) onCanceled(canceled.map(({ jobId }) => jobId));
    } catch (error) {
      log.warn({ err: error }, "cancel requests could not be read, retrying in a second");
    }
  }
}
