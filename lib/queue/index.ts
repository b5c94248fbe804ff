/**
 * The queue: stores jobs in PostgreSQL. Jobs run at least once, and each has one lease at a time.
 * This file is the entry point for web: the API, the pages and the operator's commands. The worker uses worker.ts, the
 * scheduler scheduler.ts, the routes of remote workers remote.ts, and tests testing.ts. It knows no HTTP, no page and
 * no process environment.
 * Start with states.ts for the life of a job, then enqueue/, claim/ and attempts/. Each folder is one part of the
 * queue, and its main file begins with a summary.
 */
export { abortBulkAction, acceptBulkAction, type BulkRequest, previewBulkAction } from "./actions/bulk-actions";
export { cancelJob } from "./actions/cancel-job";
export { changeJob, pauseJob, resumeJob } from "./actions/change-jobs";
export { getBulkAction, listBulkActions, listBulkResults } from "./actions/read-bulk-actions";
export { retryJob } from "./actions/retry-job";
export type * from "./actions/types";
export { deleteArtifact } from "./artifacts/delete-artifact";
export { getArtifact, listArtifacts, readArtifactChunk, readArtifactUsage } from "./artifacts/read-artifacts";
export type { ArtifactQuota } from "./artifacts/store-artifacts";
export { canonicalJson, canonicalParts } from "./canonical-json.policy";
export { getDeadLetter, listDeadLetters, listJobEvents } from "./dead-letters/read-dead-letters";
export { redriveEdited, triageDeadLetter } from "./dead-letters/triage-dead-letter";
export { createDefinition, listDefinitions, updateDefinition } from "./definitions/definitions.drizzle";
export { knownJobs, listDependencies } from "./dependencies/list-dependencies";
export { acceptJob, enqueueJob, enqueueJobs } from "./enqueue/enqueue-jobs";
export { QueueError } from "./errors";
export { announceEvent } from "./events/announce-event";
export { publishEvents } from "./events/publish-events";
export { getEvent, listEvents } from "./events/read-events";
export { replayEvent } from "./events/replay-event";
export { testTriggers } from "./events/test-triggers";
export { tenantLanes } from "./lanes/tenant-lanes";
export { listTzVersions } from "./leader/schedulers";
export { createLimit, deleteLimit, listLimits, updateLimit } from "./limits/limits.drizzle";
export { CHANNELS, notifyCancel, notifyChanges, notifyPaused, notifyWork } from "./notify";
export { endPause, listPauses, pause } from "./pauses/pauses.drizzle";
export { createQueue, listQueues, listTenantQueues, updateQueue } from "./queues/queues.drizzle";
export { changedJobs, type FeedPosition } from "./read/changed-jobs";
export { getJob } from "./read/get-job";
export { listJobs } from "./read/list-jobs";
export { type AttemptRead, listAttempts, readLogs } from "./read/read-output";
export { summarizeJobs } from "./read/summarize-jobs";
export { listSteps } from "./steps/list-steps";
export { SYSTEM } from "./system-actor";
export { changeTrigger, deleteTrigger } from "./triggers/change-trigger";
export { createTrigger } from "./triggers/create-trigger";
export { type PreviewInput, previewTrigger } from "./triggers/preview-trigger";
export { getTrigger, listFirings, listTriggers } from "./triggers/read-triggers";
export { runTrigger } from "./triggers/run-trigger";
export type * from "./types";
export { listWorkers } from "./workers/workers";
