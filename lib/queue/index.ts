/** The queue: the only way in, besides types.ts and states.ts. Knows no HTTP, no page, no process environment. */
export { LeaseLostError, QueueError, type QueueErrorCode, TermLostError } from "./errors";
export {
  type ArtifactQuota,
  appendArtifact,
  beginArtifact,
  deleteStrayArtifacts,
  discardArtifacts,
  finishArtifact,
} from "./operations/artifacts";
export { abortBulkAction, acceptBulkAction, type BulkRequest, previewBulkAction } from "./operations/bulk-actions";
export { cancelJob } from "./operations/cancel-job";
export { changeJob, pauseJob, resumeJob } from "./operations/change-jobs";
export { type ClaimRequest, claimFromLanes, claimJobs, startAttempts } from "./operations/claim-jobs";
export { decideAttemptEnd } from "./operations/decide-attempt-end";
export { DefinitionVersions } from "./operations/definition-versions";
export {
  createDefinition,
  listDefinitions,
  listServable,
  updateDefinition,
} from "./operations/definitions";
export { deleteArtifact } from "./operations/delete-artifact";
export { acceptJob, enqueueJob, enqueueJobs } from "./operations/enqueue-jobs";
export { type EnqueuedOrRun, enqueueOrRun, type JobOrWork } from "./operations/enqueue-or-run";
export { announceEvent } from "./operations/events/announce-event";
export { fanOutPending, tenantsWithPendingEvents } from "./operations/events/fan-out-pending";
export { publishEvent, publishEvents } from "./operations/events/publish-events";
export { publishWatched } from "./operations/events/publish-watched";
export { replayEvent } from "./operations/events/replay-event";
export { testTriggers } from "./operations/events/test-triggers";
export { type FiredSchedules, fireDueSchedules, msToNextSchedule } from "./operations/fire-due-schedules";
export {
  appendLogs,
  canceledAttempts,
  type ExtendedLeases,
  extendLeases,
  holdLease,
  noteProcess,
  reportProgress,
} from "./operations/hold-leases";
export { type Leadership, type LeadershipEvents, seekLeadership } from "./operations/lead";
export { createLimit, deleteLimit, listLimits, updateLimit } from "./operations/limits";
export { markRunning, unmarkRunning } from "./operations/mark-running";
export { leasesUnder, type Numbers, noteStarts, openStarts, type StartNote } from "./operations/note-starts";
export { endPause, listPauses, pause } from "./operations/pauses";
export { describeLanes, type PolledLane, type PolledWork, pollWork } from "./operations/poll-work";
export { expireJobs, type Promoted, promoteDueJobs } from "./operations/promote-due-jobs";
export { createQueue, listQueues, listTenantQueues, updateQueue } from "./operations/queues";
export { RemoteLanes, type RemoteScope } from "./operations/remote-lanes";
export {
  claimRemoteJobs,
  decideRelease,
  describeRemoteLanes,
  type EndedAttempt,
  findEndedAttempt,
  findHeldAttempt,
  type HeldAttempt,
  markHeard,
  measureLog,
  noteRemoteWorker,
  type RemoteClaimed,
  type RemoteLane,
  SINCE_HAND_OUT,
  seeRemoteWorker,
} from "./operations/remote-work";
export { LeaseWatch, type Rescued, rescueExpiredLeases } from "./operations/rescue-expired-leases";
export { type Retried, retryJob } from "./operations/retry-job";
export { listTzVersions, pruneSchedulers } from "./operations/schedulers";
export { settleAttempts } from "./operations/settle-attempts";
export { shareStarts } from "./operations/share-starts";
export { listSnapshotHolders, type SnapshotHolder, seesAllSessions } from "./operations/snapshots";
export { findStep, storeStep } from "./operations/steps";
export {
  hasReleasesLeft,
  passOverBlocked,
  type Swept,
  sweepDependents,
  type WorkedOff,
  workOffReleases,
} from "./operations/sweep-dependents";
export { SYSTEM } from "./operations/system-actor";
export { redriveEdited, triageDeadLetter } from "./operations/triage-dead-letter";
export { changeTrigger, deleteTrigger } from "./operations/triggers/change-trigger";
export { createTrigger } from "./operations/triggers/create-trigger";
export { type PreviewInput, previewTrigger, type TriggerPreview } from "./operations/triggers/preview-trigger";
export { runTrigger } from "./operations/triggers/run-trigger";
export {
  beatTerm,
  deleteExpired,
  foldStatDeltas,
  hasLeader,
  keepTerm,
  makeDays,
  partitionProblem,
  pruneWorkers,
} from "./operations/upkeep";
export { CHANNELS, notifyCancel, notifyChanges, notifyPaused, notifyWork } from "./operations/wake";
export { warmUp, warmUpRenewal } from "./operations/warm-up";
export { hasOpenActions, type MayAct, takeBulkAction, workOffChunk } from "./operations/work-off-bulk-action";
export { beatWorker, drainWorker, listWorkers, registerWorker, stopWorker } from "./operations/workers";
export { compileArgSchema, type PayloadValidator } from "./policy/arg-schema";
export { decideEnd, type ExecutionEnd, releasedEnd } from "./policy/attempt-end";
export { canonicalJson } from "./policy/canonical-json";
export { contentKey } from "./policy/content-key";
export { FairShare, type KnownLane, type LanePick, type Served } from "./policy/fairness";
export { interleave } from "./policy/interleave";
export { MAX_RECLAIMS } from "./policy/retry";
export { attemptTimeout } from "./policy/retry-policy";
export { DueMark, SORT_KEY_SLACK, WholeLooks } from "./policy/whole-looks";
export {
  artifactUsage,
  findAttemptArtifact,
  getArtifact,
  listArtifacts,
  readArtifactChunk,
  readOwnChunk,
} from "./queries/artifacts";
export { getBulkAction, listBulkActions, listBulkResults } from "./queries/bulk-actions";
export { type ChangedJobs, changedJobs, type FeedPosition } from "./queries/changed-jobs";
export { getDeadLetter, listDeadLetters, listJobEvents } from "./queries/dead-letters";
export { knownJobs, listDependencies } from "./queries/dependencies";
export { getEvent, listEvents } from "./queries/events";
export { getJob } from "./queries/get-job";
export { listJobs } from "./queries/list-jobs";
export { listSteps } from "./queries/list-steps";
export { type AttemptsPage, type LogPosition, listAttempts, readLogs } from "./queries/read-output";
export { summarizeJobs } from "./queries/summarize-jobs";
export { getTrigger, listFirings, listTriggers } from "./queries/triggers";
export type * from "./types";
export type * from "./types-control";
export type * from "./types-worker";
