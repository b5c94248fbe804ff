/** Limits of the HTTP API. Sizes are UTF-8 bytes; times are seconds unless the name says otherwise. */
export const LIMITS = {
  /** Largest request body that the front accepts. */
  bodyBytes: 1024 * 1024,
  /** Largest payload of one job. */
  payloadBytes: 256 * 1024,
  metadataBytes: 16 * 1024,
  jsonDepth: 32,
  jsonNodes: 10_000,
  bulkJobsMax: 1000,
  /** JSON values in the body of a bulk. */
  bulkNodes: 200_000,
  dependenciesMax: 1000,
  /** Parents or children of one job in one answer. */
  dependencyPageMax: 1000,
  argSchemaBytes: 64 * 1024,
  pageSizeDefault: 50,
  pageSizeMax: 200,
  /** Attempts in one answer that includes the tails of their output. */
  attemptsWithTailsMax: 10,
  offsetMax: 10_000,
  logPageDefault: 200,
  logPageMax: 1000,
  actionIdsMax: 1000,
  actionResultsDefault: 200,
  actionResultsMax: 1000,
  noteLength: 2000,
  tagsMax: 20,
  tagLength: 64,
  dedupeKeyLength: 512,
  correlationIdLength: 200,
  sourceRefLength: 200,
  searchLength: 128,
  dedupeWindowSecondsMax: 31 * 86_400,
  timeoutSecondsMax: 604_800,
  maxAttemptsMax: 100,
  priorityMax: 1000,
  retryDelaySecondsMax: 86_400,
  retryMultiplierMax: 10,
  emailLength: 320,
  passwordMin: 12,
  passwordMax: 256,
  idempotencyKeyLength: 255,
  providerPathLength: 4096,
  nameLength: 200,
  /** Open streams per user, and per API key, in each web process. */
  streamsPerCaller: 6,
  streamSeconds: 600,
  heartbeatSeconds: 15,
  /** Jobs that one claim of a remote worker may take. */
  remoteClaimMax: 50,
  remoteWaitSecondsMax: 30,
  /** Waiting claims per worker key, in each web process. */
  remotePollsPerKey: 20,
  remoteLogLines: 200,
  remoteLogLineLength: 16_384,
  errorMessageLength: 8000,
  catchUpMax: 1000,
  jitterSecondsMax: 3600,
  previewMax: 100,
  /** Events per request. */
  eventsMax: 500,
  producerIdLength: 200,
  /** Stored events per replay. */
  replayMax: 100,
  workerKeyDaysDefault: 90,
  workerKeyDaysMax: 365,
  workerKeyNamesMax: 100,
} as const;
