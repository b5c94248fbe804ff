// How a command script ends: with its result, or with one line on standard error that a tenant can act on.
import { getSystemErrorMap } from "node:util";

/** Exit codes as in sysexits.h; commands.json maps them to error classes. */
export const EXIT = { notFound: 66, internal: 70, temporary: 75, permission: 77 };

const FULL = "the worker's disk is full; free space there, then retry the job";
const TOO_MANY = "the worker has too many open files; retry the job when fewer jobs run";
/** @type {Readonly<Record<string, string>>} */
const ADVICE = { ENOSPC: FULL, EDQUOT: FULL, EMFILE: TOO_MANY, ENFILE: TOO_MANY };

/** An error that a script explains itself: its message is one sentence with the fault and what to do. */
export class ScriptError extends Error {
  /**
   * @param {string} message
   * @param {number} exitCode one of `EXIT`
   */
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Runs a script. Any error ends the process with one line on standard error and no stack, because tenants read that
 * stream. Messages of the file system are rewritten, because the originals contain paths of the worker's machine.
 * @param {() => void} main
 */
export function runScript(main) {
  try {
    main();
  } catch (error) {
    const { message, exitCode } = explain(error);
    console.error(message.replace(/\s+/g, " "));
    process.exit(exitCode);
  }
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof ScriptError) return error;
  const { code, errno, message } = /** @type {NodeJS.ErrnoException} */ (error ?? {});
  const [, meaning] = (errno === undefined ? undefined : getSystemErrorMap().get(errno)) ?? [];
  if (meaning === undefined) return { message: message || String(error), exitCode: EXIT.internal };
  const what = ADVICE[code ?? ""] ?? `the worker's file system reported a fault: ${meaning}; retry the job`;
  return { message: `${what} (${code})`, exitCode: EXIT.temporary };
}
