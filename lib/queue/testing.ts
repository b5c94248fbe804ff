/** The queue as tests and benchmarks use it: all doors, and what only they need. */
export { claimJobs } from "./claim/claim-jobs";
export { compileArgSchema } from "./definitions/arg-schema.policy";
export { enqueueOrRun } from "./enqueue/enqueue-or-run";
export { contentKey } from "./events/content-key.policy";
export * from "./index";
export * from "./remote";
export * from "./scheduler";
export type { FiredSchedules } from "./schedules/fire-due-schedules";
export * from "./worker";
