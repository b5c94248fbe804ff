import { createLogger } from "./log";

// Logs as fast as possible, and reports 20 times a second that its event loop runs.
const log = createLogger({ process: "chatter", level: "info", format: "json" });
const chat = () => {
  for (let n = 0; n < 100; n += 1) log.info({ text: "x".repeat(1000) }, "a line");
  setImmediate(chat);
};
chat();
setInterval(() => process.send?.("alive"), 50);
process.on("SIGTERM", () => {
  log.fatal("told to stop");
  process.exit(0);
});
