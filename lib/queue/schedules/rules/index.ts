/**
 * Rules: computes the instants of a schedule. Validation, preview and scheduler all use this engine, so they agree on
 * every instant. All functions are pure: the clock and randomness are passed in.
 * Start with `decideDue` (due.policy.ts) for firing, or `nextInstants` (instants.policy.ts) for listing. Cron
 * expressions pass through grammar.policy.ts (parse), calendar.policy.ts (match local times) and cron.policy.ts (apply
 * the time zone).
 */
export { CATCH_UP_SPREAD_MS, clampDelay, decideDue, instantChance, ON_TIME_MS } from "./due.policy";
export { countInstants, instantAt, newestInstants, nextInstant, nextInstants } from "./instants.policy";
export { previewSchedule } from "./preview.policy";
export { INTERVAL_BOUNDS, type ReadSchedule, readSchedule, zoneProblems } from "./read.policy";
export { describeSchedule } from "./words.policy";
