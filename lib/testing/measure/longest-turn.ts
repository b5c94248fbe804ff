/** A turn with less processor time did nothing: the loop was waiting for an answer. */
const IDLE_MS = 0.2;

/**
 * Runs a function and measures the longest turn of the event loop and the total of all but idle turns, in milliseconds
 * of processor time, which other processes on the machine do not change.
 */
export async function longestTurn<Result>(
  run: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly longestMs: number; readonly totalMs: number }> {
  let [longestMs, totalMs] = [0, 0];
  let last = process.cpuUsage();
  let isOver = false;
  const look = () => {
    const { user, system } = process.cpuUsage(last);
    last = process.cpuUsage();
    const ms = (user + system) / 1000;
    longestMs = Math.max(longestMs, ms);
    if (ms >= IDLE_MS) totalMs += ms;
  };
  const tick = () => {
    look();
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  try {
    const result = await run();
    look();
    return { result, longestMs, totalMs };
  } finally {
    isOver = true;
  }
}

const ROUNDS = 3;

/**
 * Runs a function up to three times and returns the smallest share that the longest turn had in the whole, because the
 * compiler and the garbage collector take turns of their own.
 */
export async function shareOfLongestTurn(run: () => Promise<unknown>, wanted: number): Promise<number> {
  let least = 1;
  for (let round = 0; round < ROUNDS && least >= wanted; round += 1) {
    const { longestMs, totalMs } = await longestTurn(run);
    least = Math.min(least, longestMs / totalMs);
  }
  return least;
}
