import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import type { ClaimedJob, RunnableDefinition } from "@/lib/queue/worker";
import { waitFor } from "@/lib/testing/processes";
import { plainLaunch } from "./launch.fixture";
import { Quarantine } from "./quarantine";

/** A process whose attempts end when they are stopped, and at once if their tenant is "quick". */
const PROGRAM = `
const end = (kind) => process.send({ type: "ended", execution: { outcome: { kind }, output: {} } });
process.on("message", ({ type, job }) => {
  if (type === "start") return process.send({ type: "ready" });
  if (type === "stop") return end("canceled");
  process.send({ type: "spawned", pid: process.pid });
  if (job.tenantId === "quick") end("succeeded");
});
process.on("disconnect", () => process.exit(0));
`;
const definition = { timeoutSeconds: 60, killGraceSeconds: 0, retryClasses: {} } as RunnableDefinition;
const folder = mkdtempSync(path.join(tmpdir(), "leasehold-quarantine-"));
const program = path.join(folder, "program.mjs");
writeFileSync(program, PROGRAM);
const log = createLogger({ process: "worker", level: "silent", format: "json" });
const quarantine = new Quarantine({
  log,
  program,
  memoryMb: 0,
  maxTimeoutSeconds: 3600,
  secrets: { values: {}, files: [] },
  launch: plainLaunch,
});
afterAll(() => {
  quarantine.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The tenants of the attempts that began, in this order. */
let began: string[];
beforeEach(() => {
  began = [];
});

function run(tenantId: string) {
  const stopping = new AbortController();
  const job = { jobId: tenantId, tenantId, definitionId: "one", timeoutSeconds: null, timeouts: 0 } as ClaimedJob;
  const suspect = { job, stopReason: "cancel", signal: stopping.signal, spawned: () => undefined } as const;
  const ended = quarantine.run(suspect, definition, () => began.push(tenantId));
  return { ended, stop: () => stopping.abort() };
}

test("a tenant's suspects leave half of the free processes to the suspects of other tenants", async () => {
  const many = Array.from({ length: 12 }, () => run("many"));
  await waitFor(() => began.length === 4);
  const others = ["two", "two", "two", "three", "four"].map(run);
  await waitFor(() => began.length === 8);
  expect(began.toSorted()).toEqual(["four", "many", "many", "many", "many", "three", "two", "two"]);

  // A suspect of a fifth tenant has the next free process, although others have waited longer.
  const quick = run("quick");
  many[0]?.stop();
  expect((await quick.ended).outcome.kind).toBe("succeeded");

  for (const { stop } of [...many, ...others]) stop();
  await Promise.all([...many, ...others].map(({ ended }) => ended));
  await expect(run("quick").ended).resolves.toMatchObject({ outcome: { kind: "succeeded" } });
});
