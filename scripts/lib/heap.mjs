const SMALL_BYTES = 2 * 1024 ** 3;
const SHARE = 0.6;
const LEAST_MB = 64;

/**
 * Flags for Node under a tight memory limit (a container's): its own default heap would exceed the limit, and the
 * kernel would end the process without a word. Empty when nothing is tight or a heap was chosen already.
 * @returns {string[]}
 */
export function heapFlags() {
  const limit = process.constrainedMemory?.() ?? 0;
  const chosen = `${process.env.NODE_OPTIONS ?? ""} ${process.execArgv.join(" ")}`.includes("max-old-space-size");
  if (chosen || limit <= 0 || limit > SMALL_BYTES) return [];
  return [`--max-old-space-size=${Math.max(LEAST_MB, Math.floor((limit * SHARE) / 1024 ** 2))}`];
}
