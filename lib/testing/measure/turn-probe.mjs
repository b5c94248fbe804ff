// Loaded into a process under test with --import: reports the longest pause of its event loop. Measures processor time
// of the main thread, which other processes do not change.
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
  // Runs after the turns that were due when the report was requested.
  setTimeout(() => {
    process.send?.({ type: "longest-turn", longestMs });
    longestMs = 0;
  }, 3 * LOOK_EVERY_MS);
});
process.channel?.unref();
