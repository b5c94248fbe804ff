/** Turns of about a second in which the main thread may stay silent after a lease was lost. */
const PATIENCE_TURNS = 30;

interface MainWatchOptions {
  /** Asks the main thread whether it is there. */
  readonly ask: () => void;
  /** It did not answer: whatever runs in it has lost its lease and cannot be stopped otherwise. Called once. */
  readonly onSilent: () => void;
}

/**
 * Finds out a main thread that is blocked for ever. It is asked only after a lease was lost: until then nobody else can run
 * what it does, however long it takes. Turns are counted and not time, so that a process that slept as a whole has all of
 * them before it.
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

  /** To be called about once a second. */
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
 * Follows the heartbeat of the main thread. A handler may block it for minutes; a main thread that is silent for longer
 * is frozen, and renewing its leases would keep other workers from its jobs.
 */
export class MainPulse {
  private silentTurns = 0;

  /** The main thread sent its heartbeat. */
  beat(): void {
    this.silentTurns = 0;
  }

  /** To be called about once a second. @returns false when leases are not to be renewed */
  turn(): boolean {
    this.silentTurns += 1;
    return this.silentTurns <= SILENT_TURNS;
  }
}
