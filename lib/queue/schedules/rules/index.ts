/** Time of schedules: the one engine that validation, preview and scheduler use. Pure: clock and chance are handed in. */
export { CATCH_UP_SPREAD_MS, clampDelay, decideDue, instantChance, ON_TIME_MS } from "./due.policy";
export { countInstants, instantAt, newestInstants, nextInstant, nextInstants } from "./instants.policy";
export { previewSchedule } from "./preview.policy";
export { INTERVAL_BOUNDS, type ReadSchedule, readSchedule, zoneProblems } from "./read.policy";
export { describeSchedule } from "./words.policy";
