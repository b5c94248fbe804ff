import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { startWeb } from "./web";

const web = await startWeb(await testDatabase());

/** Processor time of the web process so far, in milliseconds; /proc counts in hundredths of a second. */
function processorMs(): number {
  const [, after = ""] = readFileSync(`/proc/${web.pid}/stat`, "utf8").split(") ");
  const [user = 0, system = 0] = after.split(" ").slice(11, 13).map(Number);
  return 10 * (user + system);
}

async function costOf(times: number, run: () => Promise<unknown>): Promise<number> {
  await run();
  const began = processorMs();
  for (let time = 0; time < times; time += 1) await run();
  return (processorMs() - began) / times;
}

test
  .skipIf(process.platform !== "linux")
  .each(["/docs/api", "/docs/errors", "/docs/errors/not-found", "/login", "/nothing/here", "/api/v1/openapi.json"])(
  "%s costs an anonymous caller no more than a few milliseconds of the process",
  async (path) => {
    const cost = await costOf(30, () => web.call("GET", path));
    expect(cost).toBeLessThan(40);
  },
);
