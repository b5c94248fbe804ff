/** Entry point of the queue for workers. */
export {
  type ArtifactQuota,
  appendArtifact,
  beginArtifact,
  discardArtifacts,
  finishArtifact,
} from "./artifacts/store-artifacts";
export { decideEnd, type ExecutionEnd, givenBackEnd } from "./attempts/attempt-end.policy";
export { leasesUnder, markBegun, type Numbers, openMarks } from "./attempts/begin-attempts";
export { decideAttemptEnd } from "./attempts/decide-attempt-end";
export { settleAttempts } from "./attempts/settle-attempts";
export type * from "./attempts/types";
export { claimFromLanes, startAttempts } from "./claim/claim-jobs";
export { warmUp, warmUpRenewal } from "./claim/warm-up";
export { DefinitionVersions } from "./definitions/definition-versions";
export { listServable } from "./definitions/read-definitions";
export { workOffReleases } from "./dependencies/sweep-dependents";
export { LeaseLostError, QueueError } from "./errors";
export { publishEvent } from "./events/publish-events";
export { FairShare, type KnownLane, type Usage } from "./lanes/fairness.policy";
export { interleave } from "./lanes/interleave.policy";
export { describeLanes, type PolledLane, type PolledWork, pollWork } from "./lanes/poll-work";
export { shareUsage } from "./lanes/share-usage";
export { DueCursor, SORT_KEY_SLACK, WholeLooks } from "./lanes/whole-looks.policy";
export {
  appendLogs,
  canceledAttempts,
  extendLeases,
  holdLease,
  LOG_LINE_BYTES,
  recordProcess,
  reportProgress,
} from "./leases/hold-leases";
export { leaseKey } from "./leases/lease-key";
export { LeaseWatch, rescueExpiredLeases } from "./leases/rescue-expired-leases";
export { CHANNELS, notifyChanges, notifyWork } from "./notify";
export { decideGiveBack } from "./remote/remote-work";
export { MAX_RECLAIMS } from "./retry/retry.policy";
export { attemptTimeout } from "./retry/retry-levels.policy";
export { findStep, storeStep } from "./steps/steps";
export { SYSTEM } from "./system-actor";
export type * from "./types";
export { expireJobs, promoteDueJobs } from "./upkeep/promote-due-jobs";
export { beatWorker, drainWorker, registerWorker, stopWorker } from "./workers/workers";
