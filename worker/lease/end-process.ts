import { Session } from "node:inspector";

/** The main thread was blocked for ever. */
export const MAIN_IS_BLOCKED = 70;
const BY_FORCE_MS = 2000;

/**
 * Ends this process from another thread although its main thread does not answer. Only the inspector reaches a thread that is
 * busy; where even that fails, it ends by SIGKILL. The processes of commands are killed by their watchers.
 */
export function endBlockedProcess(): void {
  setTimeout(() => process.kill(process.pid, "SIGKILL"), BY_FORCE_MS);
  const session = new Session();
  session.connectToMainThread();
  session.post("Runtime.evaluate", { expression: `process.exit(${MAIN_IS_BLOCKED})` });
}
