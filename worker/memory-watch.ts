const LOOK_MS = 1000;
/** A collection that is due soon must not end a worker. */
const LOOKS_OVER = 10;

interface MemoryWatch {
  /** 0 = no limit. */
  readonly limitBytes: number;
  readonly rss: () => number;
  /** Called once. */
  readonly onOver: (rss: number) => void;
}

/** Calls `onOver` when the process has held more than the limit for ten seconds on end. Returns what ends the watching. */
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
