// What the programs of the benchmark have in common: they answer calls and report started jobs over IPC.
const STARTS_EVERY_MS = 100;

/**
 * Serves the verbs to the parent process.
 * @param {Record<string, (args: any) => Promise<unknown>>} verbs
 */
export function serve(verbs) {
  process.on("message", async ({ type, id, verb, args }) => {
    if (type !== "call") return;
    try {
      process.send({ type: "answer", id, result: await verbs[verb](args) });
    } catch (error) {
      process.send({ type: "answer", id, error: error.stack });
    }
  });
  process.send({ type: "ready" });
}

/** Milliseconds of the clock that all processes of a machine share. */
export const sharedClock = () => Number(process.hrtime.bigint()) / 1e6;

/**
 * Reports the end of a job that runs until it is stopped, with its time.
 * @param {"held" | "stopped"} type
 * @param {number} tag
 */
export const tellHeld = (type, tag) => process.send({ type, tag, at: sharedClock() });

/**
 * The job of all systems: counts, reports the first and the last start, and each start on request, then waits.
 * @returns {(payload: { tag: number, tenant?: number }) => Promise<void>}
 */
export function makeWork() {
  const expected = Number(process.env.BENCH_EXPECTED ?? 0);
  const workMs = Number(process.env.BENCH_WORK_MS ?? 0);
  const tells = process.env.BENCH_TELL === "1";
  let count = 0;
  let starts = [];
  if (tells) setInterval(flush, STARTS_EVERY_MS);
  function flush() {
    if (starts.length === 0) return;
    process.send({ type: "starts", starts });
    starts = [];
  }
  return async (payload) => {
    count += 1;
    if (count === 1) process.send({ type: "first", at: sharedClock() });
    if (count === expected) process.send({ type: "last", at: sharedClock() });
    if (tells) starts.push([payload.tag, payload.tenant ?? 0, sharedClock()]);
    if (workMs > 0) await new Promise((resolve) => setTimeout(resolve, workMs));
  };
}

/**
 * Calls `send` for each number of a range, `callers` at a time; answers how long it took, and this process's processor time.
 * @param {{ count: number, callers: number, send: (n: number) => Promise<unknown> }} work
 */
export async function timed({ count, callers, send }) {
  let next = 0;
  const began = sharedClock();
  const used = process.cpuUsage();
  const caller = async () => {
    while (next < count) await send(next++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const ms = sharedClock() - began;
  const { user, system } = process.cpuUsage(used);
  return { ms, cpuMs: (user + system) / 1000 };
}

/**
 * The numbers from `from`, in batches.
 * @param {{ from: number, count: number, size: number }} range
 */
export function batches({ from, count, size }) {
  return Array.from({ length: Math.ceil(count / size) }, (_, batch) =>
    Array.from({ length: Math.min(size, count - batch * size) }, (_, n) => from + batch * size + n),
  );
}
