/** Entry point of the queue for tests and benchmarks: all other entry points, and functions that only tests need. */
export { claimJobs } from "./claim/claim-jobs";
export { compileArgSchema } from "./definitions/arg-schema.policy";
export { enqueueOrRun } from "./enqueue/enqueue-or-run";
export { contentKey } from "./events/content-key.policy";
export * from "./index";
export * from "./remote";
export * from "./scheduler";
export type { FiredSchedules } from "./schedules/fire-due-schedules";
export * from "./worker";
