import { readFileSync } from "node:fs";
import { JobError } from "../errors";
import type { Isolation } from "./supervisor";

/** How the probe of an isolation ended, and what it wrote to stderr. */
export interface ProbeEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly said: string;
}

const LACKS: readonly (string | undefined)[] = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];
const LACKS_SAID =
  /Resource temporarily unavailable|Cannot allocate memory|Too many open files|fork failed|(Cannot|can't) fork/;
const MOST_SAID = 500;

/** True if a process could not start because the machine lacks processes, memory or descriptors at the moment. */
export const isLack = (error: NodeJS.ErrnoException): boolean => LACKS.includes(error.code);

/**
 * Returns an error if a probe failed because of a passing lack, else null. Such a lack is no reason for a weaker
 * isolation, which would outlast it.
 */
export function lackOf({ status, signal, said }: ProbeEnd, isolation: Isolation): JobError | null {
  if (status === 0) return null;
  // SIGKILL comes from the probe's time limit, or from a kernel without memory.
  const isFull = said.includes("No space left on device") && !areNamespacesOff(isolation);
  if (signal !== "SIGKILL" && !isFull && !LACKS_SAID.test(said)) return null;
  const why = said.trim().slice(-MOST_SAID) || "it took too long, or memory ran out";
  return new JobError(`a test of the isolation of commands failed for now, try again: ${why}`, {
    errorType: "temporary_resource",
  });
}

/** True if a limit of zero forbids the namespaces. Where they are used up, the kernel returns the same error. */
function areNamespacesOff({ userNamespace }: Isolation): boolean {
  const kinds = ["pid", "mnt", "ipc", ...(userNamespace ? ["user"] : [])];
  return kinds.some((kind) => isZero(`/proc/sys/user/max_${kind}_namespaces`));
}

function isZero(file: string): boolean {
  try {
    return readFileSync(file, "utf8").trim() === "0";
  } catch {
    return false;
  }
}
