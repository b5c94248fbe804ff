export { DirectConnection, misfit, type Needs, PAUSED, requireFit } from "./fitness";
export { type HealthOptions, type HealthServer, startHealthServer } from "./health";
export { announceReady, type Ready } from "./ready";
export { installShutdown, type Shutdown, type ShutdownOptions } from "./shutdown";
export { TZ_VERSION, VERSION } from "./version";
