const SMALL_BYTES = 2 * 1024 ** 3;
const SHARE = 0.6;
const LEAST_MB = 64;

/**
 * Returns Node flags for a tight memory limit (a container's), because Node's default heap would exceed the limit and
 * the kernel would kill the process without a message. Empty when memory is not tight or a heap size was chosen.
 * @returns {string[]}
 */
export function heapFlags() {
  const limit = process.constrainedMemory?.() ?? 0;
  const chosen = `${process.env.NODE_OPTIONS ?? ""} ${process.execArgv.join(" ")}`.includes("max-old-space-size");
  if (chosen || limit <= 0 || limit > SMALL_BYTES) return [];
  return [`--max-old-space-size=${Math.max(LEAST_MB, Math.floor((limit * SHARE) / 1024 ** 2))}`];
}
