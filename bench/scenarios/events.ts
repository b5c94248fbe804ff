import { createTrigger, publishEvent } from "@/lib/queue/testing";
import { addTenant, createInstallation, openPool } from "../lib/installation";
import type { Options } from "../lib/options";
import type { BenchServer } from "../lib/server";
import { percentile } from "../lib/stats";

const TRIGGERS = 100;
const EVENTS = { full: 500, quick: 50 };
/** How many of the tenant's triggers an event starts. */
const MATCHING = [0, 1, 10, 100];

/**
 * How long it takes to publish one event of a tenant with 100 triggers on its name, each with a condition and a template:
 * stored, matched, rendered and its jobs enqueued, from the call to the commit. One caller, one event at a time.
 */
export async function events(server: BenchServer, { quick, rounds }: Options): Promise<string> {
  const installation = await createInstallation(server, "bench_leasehold_events");
  const web = openPool(installation, "web", { max: 2 });
  const scope = await addTenant(installation);
  for (let n = 0; n < TRIGGERS; n += 1)
    await createTrigger(web, scope, {
      label: `bench ${n}`,
      trigger_type: "event",
      event_name: "bench.happened",
      definition_key: "noop",
      condition: `event.wanted > ${n} && event.kind in ["a", "b"]`,
      payload_template: { n, at: "{{event.at}}", text: "number {{event.wanted}}" },
      dedupe_window_seconds: 0,
    });
  const lines = ["| triggers | started | p50 (ms) | p95 (ms) | p99 (ms) |", "| --- | --- | --- | --- | --- |"];
  for (const wanted of MATCHING) {
    const ms: number[] = [];
    for (let n = 0; n < EVENTS[quick ? "quick" : "full"] * rounds; n += 1) {
      const began = performance.now();
      const { started_count: started } = await publishEvent(web, scope, {
        name: "bench.happened",
        data: { wanted, kind: "a", at: new Date().toISOString(), n },
      });
      ms.push(performance.now() - began);
      if (started !== wanted) throw new Error(`${started} jobs where ${wanted} should have been started`);
    }
    const cells = [0.5, 0.95, 0.99].map((share) => percentile(ms, share).toFixed(1));
    lines.push(`| ${TRIGGERS} | ${wanted} | ${cells.join(" | ")} |`);
  }
  await web.close();
  return lines.join("\n");
}
