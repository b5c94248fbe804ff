import { expect, test } from "vitest";
import { outcomeOfError } from "./classify-error";
import { JobError, NonRetryableError, RateLimitedError } from "./errors";
import { secretForms } from "./output/secret-forms";

const stackOf = (error: unknown) => {
  const outcome = outcomeOfError(error, secretForms([]));
  return outcome.kind === "failed" ? outcome.stack : undefined;
};

test("the stack of an unexpected error contains the handler's lines only, not the installation path", () => {
  const error = new TypeError("no disk");
  error.stack = [
    "TypeError: no disk",
    `    at columnsOf (${process.cwd()}/jobs/handlers/own.ts:91:9)`,
    `    at file://${process.cwd()}/jobs/handlers/other.ts:5:1`,
    `    at commands (${process.cwd()}/lib/execution/handler/commands.ts:75:11)`,
    `    at parse (${process.cwd()}/node_modules/zod/index.js:1:1)`,
    `    at async inLease (${process.cwd()}/worker/run/run-attempt.ts:175:5)`,
    `    at async run (file://${process.cwd()}/dist/worker.mjs:5:1)`,
    "    at elsewhere (/srv/other/jobs/own.ts:1:1)",
    "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
    "    at new Promise (<anonymous>)",
  ].join("\n");
  expect(stackOf(error)?.split("\n")).toEqual([
    "TypeError: no disk",
    "    at columnsOf (jobs/handlers/own.ts:91:9)",
    "    at jobs/handlers/other.ts:5:1",
  ]);
});

test.each(["ENOENT", "EACCES", "ECONNREFUSED", "ENOSPC"])("an environment error (%s) has no stack", (code) => {
  const error = Object.assign(new Error(`${code}: no such file`), { code });
  error.stack = `Error: ${error.message}\n    at columnsOf (${process.cwd()}/jobs/handlers/own.ts:91:9)`;
  expect(stackOf(error)).toBeUndefined();
});

test.each([
  new JobError("no such column", { errorType: "validation" }),
  new NonRetryableError("no such column"),
  new RateLimitedError(5),
  new Error("thrown by the worker itself"),
])("an input error has only its message: %s", (error) => {
  expect(stackOf(error)).toBeUndefined();
});
