const LOOK_MS = 1000;
/** Looks in a row over the limit, so that memory that is about to be collected does not end a worker. */
const LOOKS_OVER = 10;

interface MemoryWatch {
  /** 0 = no limit. */
  readonly limitBytes: number;
  readonly rss: () => number;
  /** Called once. */
  readonly onOver: (rss: number) => void;
}

/**
 * Calls `onOver` when the process has exceeded the limit for ten seconds without a break. Returns a function that stops
 * watching.
 */
export function watchMemory({ limitBytes, rss, onOver }: MemoryWatch): () => void {
  if (limitBytes === 0) return () => undefined;
  let over = 0;
  const timer = setInterval(() => {
    const held = rss();
    over = held > limitBytes ? over + 1 : 0;
    if (over < LOOKS_OVER) return;
    clearInterval(timer);
    onOver(held);
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
