/** Entry point of the queue for the routes of remote workers. */
export { findAttemptArtifact, readOwnChunk } from "./artifacts/read-artifacts";
export { appendArtifact, beginArtifact, discardArtifacts, finishArtifact } from "./artifacts/store-artifacts";
export { type ExecutionEnd, givenBackEnd } from "./attempts/attempt-end.policy";
export { decideAttemptEnd } from "./attempts/decide-attempt-end";
export { settleAttempts } from "./attempts/settle-attempts";
export type * from "./attempts/types";
export { DefinitionVersions } from "./definitions/definition-versions";
export { LeaseLostError, QueueError } from "./errors";
export { FairShare } from "./lanes/fairness.policy";
export { WholeLooks } from "./lanes/whole-looks.policy";
export { appendLogs, canceledAttempts, extendLeases, LOG_LINE_BYTES, reportProgress } from "./leases/hold-leases";
export { CHANNELS, notifyChanges, notifyWork } from "./notify";
export { RemoteLanes, type RemoteScope } from "./remote/remote-lanes";
export {
  claimRemoteJobs,
  decideGiveBack,
  describeRemoteLanes,
  type EndedAttempt,
  findEndedAttempt,
  findLeasedAttempt,
  type LeasedAttempt,
  markHeard,
  measureLog,
  recordRemoteWorker,
  SINCE_HAND_OUT,
  seeRemoteWorker,
} from "./remote/remote-work";
export { attemptTimeout } from "./retry/retry-levels.policy";
export type * from "./types";
export { drainWorker, stopWorker } from "./workers/workers";
