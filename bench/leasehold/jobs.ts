import { z } from "zod";
import { defineJob, type JobHandler } from "@/lib/execution";
import { makeWork, tellHeld } from "../lib/program.mjs";

const work = makeWork();

const noop = defineJob({
  key: "noop",
  schema: z.strictObject({ tag: z.int(), tenant: z.int().optional() }),
  run: ({ payload }) => work(payload),
});

/** A job that runs until its signal is aborted, and reports that time. */
const holdAs = (key: string) =>
  defineJob({
    key,
    schema: z.strictObject({ tag: z.int() }),
    run: ({ payload, signal }) =>
      new Promise<void>((_, reject) => {
        const stopped = () => {
          tellHeld("stopped", payload.tag);
          reject(signal.reason);
        };
        if (signal.aborted) return stopped();
        signal.addEventListener("abort", stopped, { once: true });
        tellHeld("held", payload.tag);
      }),
  });

/** The handlers of the benchmark's worker, in place of an installation's own. */
export const handlers: ReadonlyMap<string, JobHandler> = new Map(
  [noop, holdAs("hold"), holdAs("hold-briefly")].map((handler) => [handler.key, handler]),
);
