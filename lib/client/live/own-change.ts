/** How long after the user's own change answers may show it at once. */
const FRESH_MS = 5000;
let changedAt = Number.NEGATIVE_INFINITY;

/** Records that the user changed something in this tab. */
export function noteOwnChange(): void {
  changedAt = Date.now();
}

/** Returns true for five seconds after the user changed something in this tab. */
export const changedJustNow = (): boolean => Date.now() - changedAt < FRESH_MS;
