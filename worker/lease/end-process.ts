import { Session } from "node:inspector";

/** Exit code of a worker whose main thread was blocked forever. */
export const MAIN_IS_BLOCKED = 70;
const BY_FORCE_MS = 2000;

/**
 * Ends this process from another thread while its main thread is blocked. Only the inspector reaches a busy thread; if
 * even that fails, SIGKILL ends the process. Watchers kill the processes of commands.
 */
export function endBlockedProcess(): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), BY_FORCE_MS);
  const session = new Session();
  session.connectToMainThread();
  session.post("Runtime.evaluate", { expression: `process.exit(${MAIN_IS_BLOCKED})` });
}
