// Loaded into a process under test with --import: says how long its event loop was held at most. Counts the processor time
// of the main thread, which the work of other processes does not change.
import { readFileSync } from "node:fs";

const LOOK_EVERY_MS = 2;
const MAIN_THREAD = `/proc/${process.pid}/task/${process.pid}/schedstat`;

const usedMs = () => {
  try {
    return Number(readFileSync(MAIN_THREAD, "utf8").split(" ")[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
};

let [longestMs, before] = [0, usedMs()];
setInterval(() => {
  const now = usedMs();
  longestMs = Math.max(longestMs, now - before);
  before = now;
}, LOOK_EVERY_MS).unref();

process.on("message", (message) => {
  if (message?.type !== "longest-turn") return;
  // After the turns that were due when this was asked.
  setTimeout(() => {
    process.send?.({ type: "longest-turn", longestMs });
    longestMs = 0;
  }, 3 * LOOK_EVERY_MS);
});
process.channel?.unref();
