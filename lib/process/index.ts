/*
 * The frame of every process: the check that it fits its database, health endpoints, readiness, and shutdown. A process
 * never works with a schema it does not know, or with a login that bypasses row security. The first signal drains, a
 * second one exits at once.
 *
 * Start with `fitness.ts` and `shutdown.ts`.
 */

export { DirectConnection, misfit, type Needs, PAUSED, requireFit } from "./fitness";
export { announceReady, type Ready } from "./ready";
export { sharedCheck } from "./shared-check";
export { exitIfStartFails, installShutdown, type Shutdown, type ShutdownOptions } from "./shutdown";
export { startHealth } from "./start-health";
export { TZ_VERSION, VERSION } from "./version";
