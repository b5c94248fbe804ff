/**
 * Runs something and measures the longest turn of the event loop and the total, in milliseconds of processor time, which
 * other processes on the machine do not change.
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
    totalMs += ms;
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
