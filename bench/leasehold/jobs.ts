import { z } from "zod";
import { defineJob, type JobHandler } from "@/lib/execution";
import { makeWork } from "../lib/program.mjs";

const work = makeWork();

const noop = defineJob({
  key: "noop",
  schema: z.strictObject({ tag: z.int(), tenant: z.int().optional() }),
  run: ({ payload }) => work(payload),
});

/** What the worker of the benchmark is built with in place of an installation's own handlers. */
export const handlers: ReadonlyMap<string, JobHandler> = new Map([[noop.key, noop]]);
