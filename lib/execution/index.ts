/**
 * Runs the attempts of jobs: allow-listed commands and handlers. Start with `executeCommand` and `executeHandler`; a
 * handler's API is `HandlerContext` (define-job.ts).
 *
 * Neither rejects: every failure is an `Outcome`. Output, results and error texts are cleaned, bounded, and free of
 * known secrets. Stopping has a grace period, except for a lost lease. Accesses no database itself and knows no queue
 * operations.
 */
export { ChunkedArtifact } from "./artifacts/chunked-artifact";
export { contentTypeOf, nameProblem } from "./artifacts/names";
export type {
  ArtifactContent,
  ArtifactOptions,
  ArtifactStore,
  ArtifactWriter,
  KeptArtifact,
} from "./artifacts/types";
export {
  type CommandRun,
  type DefinitionDefaults,
  defineJob,
  type HandlerContext,
  type JobHandler,
  type JobSpec,
  jsonSchemaOf,
} from "./define-job";
export {
  AttemptLostError,
  AttemptStoppedError,
  CommandFailedError,
  JobError,
  type JobErrorOptions,
  NonRetryableError,
  RateLimitedError,
  ReleasedError,
  SnoozedError,
} from "./errors";
export { executeCommand } from "./execute-command";
export { executeHandler } from "./execute-handler";
export type { HandlerRunContext } from "./handler/run-context";
export { normalizeRelative, openInside } from "./paths";
export { CommandRegistryError, loadCommandRegistry, type RegistryOptions } from "./registry/load";
export type { CommandRegistry } from "./registry/registry";
export { retryAfter } from "./retry-after";
export type { StartThread } from "./thread/host";
export type {
  CapturedOutput,
  ChildJob,
  ErrorClass,
  Execution,
  Failure,
  HandlerEvent,
  LogLevel,
  OpenedPath,
  Outcome,
  OutputStream,
  RunContext,
  StepStore,
  StopReason,
} from "./types";
