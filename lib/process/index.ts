/*
 * The frame of every process: the check that it fits its database, health endpoints, readiness, and shutdown. A process
 * never works with a schema it does not know, or with a login that bypasses row security. The first signal drains, a
 * second one exits at once.
 *
 * Start with `fitness.ts` and `shutdown.ts`. `health.ts` is imported by its path, because the pages are built without
 * its thread.
 */

export { DirectConnection, misfit, type Needs, PAUSED, requireFit } from "./fitness";
export { announceReady, type Ready } from "./ready";
export { sharedCheck } from "./shared-check";
export { exitIfStartFails, installShutdown, type Shutdown, type ShutdownOptions } from "./shutdown";
export { TZ_VERSION, VERSION } from "./version";
