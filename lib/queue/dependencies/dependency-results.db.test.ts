import { afterAll, describe, expect, test } from "vitest";
import { type Condition, enqueueJobs, retryJob, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, claimAll, child, see, succeed } = await makeLinkedJobs(database);
afterAll(() => make.close());

let made: Promise<string> | undefined;
/** Returns the one parent of all conditions, which has ended. */
function conditionParent(result: unknown): Promise<string> {
  made ??= make.job(scope).then(async ({ id }) => {
    await succeed(id, result);
    return id;
  });
  return made;
}

describe("A-04 a parent's result in a child's payload", () => {
  const render = async (payload: unknown, result: unknown) => {
    const parent = await make.runningJob(scope);
    const jobId = await child([{ jobId: parent.jobId, type: "data", as: "p" }], { payload });
    await settleAttempts(make.worker, [succeeded(parent, result)]);
    const job = await see(jobId);
    await make.claim("w");
    return job;
  };

  const timed = async <T>(run: () => Promise<T>) => {
    const began = performance.now();
    const job = await run();
    return { job, ms: performance.now() - began };
  };

  test("whole values keep their type, text is joined, defaults apply, and escaped braces stay", async () => {
    const result = { n: 7, list: [{ "a-b": "x" }, null], yes: true, "": 1 };
    const payload = {
      n: "{{parents.p.result.n}}",
      first: "{{ parents.p.result.list[0].a-b }}",
      none: "{{parents.p.result.list[1]}}",
      text: "{{parents.p.status}}: {{parents.p.result.n}} {{parents.p.result.list}} {{parents.p.result.yes}}",
      fallback: ['{{parents.p.result.gone | default: {"a": [1]}}}', { key: '{{"{{"}}' }],
    };
    expect(await render(payload, result)).toMatchObject({
      status: "queued",
      payload: {
        n: 7,
        first: "x",
        none: null,
        text: 'succeeded: 7 [{"a-b": "x"}, null] true',
        fallback: [{ a: [1] }, { key: "{{" }],
      },
    });
    expect((await render("{{parents.p.result}}", ["all"])).payload).toEqual(["all"]);
  });

  test("a missing value, a prototype property or a payload over 256 KiB fails the child with the pointer", async () => {
    const missing = await render({ a: { "b/c": "{{parents.p.result.x.y}}" } }, { x: 1 });
    expect(missing).toMatchObject({ status: "failed", error_type: "template" });
    expect(missing.last_error).toContain("payload/a/b~1c needs parents.p.result.x.y");
    expect((await render(["{{parents.p.result.constructor.name}}"], {})).status).toBe("failed");
    expect((await render(["{{parents.p.result.__proto__}}"], {})).status).toBe("failed");
    const large = Array(30).fill("{{parents.p.result.text}}");
    expect((await render(large, { text: "x".repeat(10_000) })).last_error).toContain("256 KiB");
  });

  test("a payload that would become huge does not slow down the end of its parent", async () => {
    const most = { text: "x".repeat(250_000) };
    for (const huge of [Array(1000).fill("{{parents.p.result}}"), "{{parents.p.result.text}}".repeat(1000)]) {
      const { job, ms } = await timed(() => render(huge, most));
      expect(job).toMatchObject({ status: "failed", error_type: "template" });
      expect(job.last_error).toContain("256 KiB");
      expect(ms).toBeLessThan(5000);
    }
    const deep = (at: number): unknown => (at === 0 ? Array(900).fill("{{parents.p.result}}") : [deep(at - 1), at]);
    const { job, ms } = await timed(() => render({ deep: deep(25), rest: "x".repeat(200_000) }, 7));
    expect(JSON.stringify(job.payload)).toContain(`[${Array(900).fill(7).join(",")}]`);
    expect(ms).toBeLessThan(5000);
  });

  test("the child's next attempts and runs use the same payload", async () => {
    const parent = await make.runningJob(scope);
    const jobId = await child([{ jobId: parent.jobId, type: "data", as: "p" }], { payload: ["{{parents.p.result}}"] });
    await settleAttempts(make.worker, [succeeded(parent, 1)]);
    const first = (await make.claim("w")).find((one) => one.jobId === jobId);
    if (!first) throw new Error("not claimed");
    expect(first.payload).toEqual([1]);
    await settleAttempts(make.worker, [dead(first)]);
    await retryJob(make.web, scope, { jobId });
    expect((await make.claim("w")).find((one) => one.jobId === jobId)?.payload).toEqual([1]);
  });

  test("with on_parent_failure run the child runs with the defaults", async () => {
    const parent = await make.runningJob(scope);
    const jobId = await child([{ jobId: parent.jobId, type: "data", as: "p" }], {
      payload: ["{{parents.p.result.n | default: 0}}", "{{parents.p.status}}"],
      onParentFailure: "run",
    });
    await settleAttempts(make.worker, [dead(parent)]);
    expect(await see(jobId)).toMatchObject({ status: "queued", payload: [0, "dead_letter"] });
    await make.claim("w");
  });

  test("a payload with placeholders is not replaced and does not replace another over a dedupe key", async () => {
    const parent = await make.job(scope);
    const waits = {
      dependsOn: [{ jobId: parent.id, type: "data" as const, as: "p" }],
      payload: ["{{parents.p.result}}"],
    };
    const replace = { mode: "live", onConflict: "replace_payload" } as const;
    const [held, plain] = await enqueueJobs(make.web, scope, [
      { definitionKey, dedupeKey: "a", ...waits },
      { definitionKey, dedupeKey: "b", payload: ["own"] },
    ]);
    const again = await enqueueJobs(make.web, scope, [
      { definitionKey, dedupeKey: "a", dedupe: replace, payload: ["other"] },
      { definitionKey, dedupeKey: "b", dedupe: replace, ...waits },
    ]);
    expect(again.map(({ conflict }) => conflict)).toEqual(["returned", "returned"]);
    await succeed(parent.id, "done");
    expect((await see(String(held?.jobId))).payload).toEqual(["done"]);
    expect((await see(String(plain?.jobId))).payload).toEqual(["own"]);
    await claimAll();
  });

  test("a child whose payload cannot be rendered fails, and its parent still ends", async () => {
    const parent = await make.runningJob(scope);
    const jobId = await child([{ jobId: parent.jobId, type: "data", as: "p" }], {
      payload: [["{{parents.p.result}}"]],
    });
    const onIt = await child([{ jobId }]);
    await database.query(
      "update app.job_dependencies set bindings = jsonb_set(bindings, '{0,at,0}', '\"x\"') where child_id = $1",
      [jobId],
    );
    expect((await settleAttempts(make.worker, [succeeded(parent)])).settled).toEqual([parent.jobId]);
    expect(await see(jobId)).toMatchObject({ status: "failed", error_type: "template" });
    expect((await see(onIt)).status).toBe("canceled");
  });
});

describe("A-04 conditions on a parent that has ended", () => {
  const RESULT = { n: 5, s: "b", list: ["x"], nothing: null, deep: { yes: true } };
  test.each([
    ["result.n", "eq", 5, true],
    ["result.n", "eq", 5.0, true],
    ["result.n", "eq", "5", false],
    ["result.n", "ne", 5, false],
    ["result.gone", "ne", 5, true],
    ["result.gone", "eq", null, true],
    ["result.n", "gt", 4, true],
    ["result.n", "gt", 5, false],
    ["result.n", "gte", 5, true],
    ["result.n", "lt", 5.5, true],
    ["result.n", "lte", 4, false],
    ["result.n", "gt", "4", false],
    ["result.gone", "lt", 1, false],
    ["result.s", "gt", "a", true],
    ["result.s", "lte", "B", false],
    ["result.s", "in", ["a", "b"], true],
    ["result.s", "in", ["B"], false],
    ["result.list[0]", "eq", "x", true],
    ["result.list[1]", "exists", undefined, false],
    ["result.list[1]", "exists", false, true],
    ["result.nothing", "exists", true, false],
    ["result.deep.yes", "eq", true, true],
    ["status", "in", ["succeeded", "failed"], true],
    ["status", "eq", "failed", false],
  ] satisfies [string, Condition["op"], unknown, boolean][])("%s %s %j is %s", async (path, op, value, holds) => {
    const parent = await conditionParent(RESULT);
    const condition = { path, op, ...(value === undefined ? {} : { value }) };
    const jobId = await child([{ jobId: parent, type: "conditional", condition }]);
    const job = await see(jobId);
    expect(job).toMatchObject(holds ? { status: "queued" } : { status: "canceled", errorType: "condition_not_met" });
  });
});
