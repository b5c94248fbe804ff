/** Mean run time up to which a definition's jobs are claimed ahead. */
const QUICK_MS = 5;
/** Jobs claimed ahead are expected to finish in about this time. */
const AHEAD_MS = 25;
const MOST_AHEAD = 800;
const LEAST_MS = 0.05;
/** Weight of the newest run in the mean: a few slow runs are enough to stop claiming ahead. */
const NEWEST = 0.1;

/** Mean run time of recent jobs by definition, and how many jobs to claim ahead. */
export class Pace {
  private readonly means = new Map<string, number>();
  private isStuck = false;

  /** Records that jobs claimed ahead got no slot, because slow jobs took all of them. */
  stuck(): void {
    this.isStuck = true;
  }

  ended(definitionId: string, ms: number): void {
    this.isStuck = false;
    const known = this.means.get(definitionId);
    this.means.set(definitionId, known === undefined ? ms : known + (ms - known) * NEWEST);
  }

  /** False for a definition of which no job has run yet. */
  isQuick(definitionId: string): boolean {
    return (this.means.get(definitionId) ?? Number.POSITIVE_INFINITY) <= QUICK_MS;
  }

  /**
   * Returns how many jobs these slots finish in the time for which claiming ahead pays. Returns 0 when all definitions
   * are slow, and from `stuck` until the next job ends: jobs claimed ahead then would only be given back every second.
   */
  ahead(slots: number): number {
    if (this.isStuck) return 0;
    let sum = 0;
    let quick = 0;
    // Runs whenever a job ends, so this allocates no arrays.
    for (const mean of this.means.values()) {
      if (mean > QUICK_MS) continue;
      sum += mean;
      quick += 1;
    }
    if (quick === 0) return 0;
    return Math.min(MOST_AHEAD, Math.floor((slots * AHEAD_MS) / Math.max(LEAST_MS, sum / quick)));
  }
}
