/** A definition whose jobs are over this soon is worth claiming ahead for. */
const QUICK_MS = 5;
/** Work that is claimed ahead is done in about this time. */
const AHEAD_MS = 25;
const MOST_AHEAD = 800;
const LEAST_MS = 0.05;
/** Weight of the newest run: a few slow ones are enough to stop claiming ahead. */
const NEWEST = 0.1;

/** How long jobs have run lately, by definition, and what follows for claiming ahead. */
export class Pace {
  private readonly means = new Map<string, number>();
  private isStuck = false;

  /** What was claimed ahead had no turn: all places are taken by jobs that are not over in milliseconds. */
  stuck(): void {
    this.isStuck = true;
  }

  ended(definitionId: string, ms: number): void {
    this.isStuck = false;
    const known = this.means.get(definitionId);
    this.means.set(definitionId, known === undefined ? ms : known + (ms - known) * NEWEST);
  }

  /** False for a definition of which nothing has run yet. */
  isQuick(definitionId: string): boolean {
    return (this.means.get(definitionId) ?? Number.POSITIVE_INFINITY) <= QUICK_MS;
  }

  /**
   * How many jobs this many places finish in the time for which it is worth claiming ahead; 0 when all are slow, and from
   * `stuck` until the next one ends: what would be claimed ahead would only be given back again, second by second.
   */
  ahead(places: number): number {
    if (this.isStuck) return 0;
    let sum = 0;
    let quick = 0;
    // Asked whenever a job ends: no arrays are made for it.
    for (const mean of this.means.values()) {
      if (mean > QUICK_MS) continue;
      sum += mean;
      quick += 1;
    }
    if (quick === 0) return 0;
    return Math.min(MOST_AHEAD, Math.floor((places * AHEAD_MS) / Math.max(LEAST_MS, sum / quick)));
  }
}
