/** Turns of about a second for which the main thread may stay silent after a lease was lost. */
const PATIENCE_TURNS = 30;

interface MainWatchOptions {
  /** Asks the main thread to answer. */
  readonly ask: () => void;
  /** Called once when the main thread did not answer: its work has lost its lease and cannot be stopped otherwise. */
  readonly onSilent: () => void;
}

/**
 * Detects a main thread that is blocked forever. The main thread is asked only after a lease was lost: until then no
 * other worker can run its jobs, however long they take. The limit counts turns instead of time, so a process that was
 * suspended has all of its turns left when it resumes.
 */
export class MainWatch {
  private silentTurns = 0;
  private asking = false;

  constructor(private readonly options: MainWatchOptions) {}

  leaseLost(): void {
    if (this.asking) return;
    this.asking = true;
    this.silentTurns = 0;
    this.options.ask();
  }

  answered(): void {
    this.asking = false;
  }

  /** Call it about once a second. */
  turn(): void {
    if (!this.asking) return;
    this.silentTurns += 1;
    if (this.silentTurns < PATIENCE_TURNS) return;
    this.asking = false;
    this.options.onSilent();
  }
}

/** Turns of about a second without a heartbeat of the main thread, after which its leases are no longer renewed. */
const SILENT_TURNS = 300;

/**
 * Follows the heartbeat of the main thread. A handler may block the thread for minutes. A thread that is silent for
 * longer is frozen, and renewing its leases would keep other workers from its jobs.
 */
export class MainPulse {
  private silentTurns = 0;

  /** Records a heartbeat of the main thread. */
  beat(): void {
    this.silentTurns = 0;
  }

  /** Call it about once a second. @returns false when leases are not to be renewed */
  turn(): boolean {
    this.silentTurns += 1;
    return this.silentTurns <= SILENT_TURNS;
  }
}
