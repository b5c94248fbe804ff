import { expect, test } from "vitest";
import { enqueueJobs } from "@/lib/queue/testing";
import { openStage } from "./stage";

const stage = await openStage();
await stage.define("counts", {
  command_key: "act",
  arg_schema: { type: "object", properties: { result: { type: "object", properties: { n: { type: "integer" } } } } },
});
await stage.startScheduler();
await stage.startWorker();

test("A-04 results pass from job to job, and a result that does not match fails the job that uses it", async () => {
  const enqueued = await enqueueJobs(stage.factory.web, stage.scope, [
    { definitionKey: "act", ref: "first", payload: { result: { n: 7, word: "seven" } } },
    {
      definitionKey: "counts",
      ref: "second",
      payload: { say: "it is {{parents.first.result.word}}", result: { n: "{{parents.first.result.n}}" } },
      dependsOn: [{ ref: "first", type: "data" }],
    },
    {
      definitionKey: "counts",
      ref: "misfit",
      payload: { result: { n: "{{parents.first.result.word}}" } },
      dependsOn: [{ ref: "first", type: "data" }],
    },
    {
      definitionKey: "act",
      ref: "last",
      dependsOn: [
        { ref: "second", type: "conditional", condition: { path: "result.n", op: "gte", value: 7 } },
        { ref: "misfit", type: "completion" },
      ],
    },
    { definitionKey: "act", ref: "never", dependsOn: [{ ref: "misfit" }], onParentFailure: "fail" },
  ]);
  const [first, second, misfit, last, never] = await Promise.all(
    enqueued.map(({ jobId }) => stage.settled(jobId, 60_000)),
  );
  expect([first?.status, second?.status, last?.status]).toEqual(["succeeded", "succeeded", "succeeded"]);
  expect(second).toMatchObject({ payload: { say: "it is seven", result: { n: 7 } }, result: { n: 7 } });
  expect((await stage.attempts(String(second?.id)))[0]?.stdout_tail).toContain("it is seven");
  expect(misfit).toMatchObject({ status: "dead_letter", error_type: "validation" });
  expect(never).toMatchObject({ status: "failed", error_type: "parent_failed" });
});
