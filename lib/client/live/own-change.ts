/** How long answers after a change of one's own may show it. */
const FRESH_MS = 5000;
let changedAt = Number.NEGATIVE_INFINITY;

/** Records that the reader changed something in this tab. */
export function noteOwnChange(): void {
  changedAt = Date.now();
}

/** True for five seconds after the reader changed something in this tab. */
export const changedJustNow = (): boolean => Date.now() - changedAt < FRESH_MS;
