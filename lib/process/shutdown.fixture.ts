import { createLogger } from "@/lib/observability/log";
import { installShutdown } from "@/lib/process";

// A process whose drain takes as long as its first argument says, in milliseconds.
const [drainMs = "0", graceMs = "1000", fault = ""] = process.argv.slice(2);
const log = createLogger({ process: "fixture", level: "info", format: "json" });
const shutdown = installShutdown({ log, graceMs: Number(graceMs) });
const idle = setInterval(() => {}, 1000);

shutdown.onForce(() => void process.stdout.write("forced\n"));
shutdown.onDrain(() => {
  clearInterval(idle);
  process.stdout.write("first registered, last drained\n");
});
shutdown.onDrain(async () => {
  process.stdout.write("draining now\n");
  await new Promise((resolve) => setTimeout(resolve, Number(drainMs)));
});
if (fault === "throw") setTimeout(() => Promise.reject(new Error("not caught on purpose")), 0);
if (fault === "begin") setTimeout(() => shutdown.begin("a reason", 3), 0);
process.stdout.write("up\n");
process.send?.({ type: "ready" });
