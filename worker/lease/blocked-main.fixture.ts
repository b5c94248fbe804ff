import { createLogger } from "@/lib/observability/log";
import { processClock } from "./lease-protocol";
import { Leases } from "./leases";

// A worker's main thread that holds a lease and then blocks its event loop forever, as a handler could. Only the lease
// thread keeps running.
const [databaseUrl = "", jobId = "", leaseNo = "", blocks = ""] = process.argv.slice(2);
const log = createLogger({ process: "worker", level: "info", format: "json" });
const leases = new Leases(databaseUrl, { log, logFormat: "json", onDied: () => process.exit(1) });
const lease = { jobId, leaseNo: Number(leaseNo), leaseSeconds: 5, since: processClock(), renewForMs: 3_600_000 };
leases.hold([lease], () => log.info("lost"));
setTimeout(() => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  // Blocks like an endless loop, without using up a processor.
  while (blocks === "blocks") Atomics.wait(cell, 0, 0, 20);
}, 500);
