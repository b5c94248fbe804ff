import { describe, expect, test } from "vitest";
import { QueueError } from "../errors";
import type { NewJob } from "../types";
import { compileCondition } from "./condition.policy";
import { linkJobs, outerParents } from "./link-jobs.policy";
import { compileTemplate } from "./template.policy";

const OUTER = "00000000-0000-7000-8000-00000000000a";
const job = (job: Partial<NewJob> = {}): NewJob => ({ definitionKey: "d", ...job });
const link = (jobs: readonly NewJob[], known: readonly string[] = [OUTER]) =>
  linkJobs(jobs, { at: (index) => `/jobs/${index}`, known });
const problemsOf = (jobs: readonly NewJob[], known?: readonly string[]) => {
  try {
    link(jobs, known);
  } catch (error) {
    if (error instanceof QueueError) return error.problems.map(({ pointer, code }) => [pointer, code]);
    throw error;
  }
  return [];
};

describe("A-04 dependencies between jobs", () => {
  test("a child gets a greater id than its parents, in any order of the request", () => {
    const [last, middle, first] = link([
      job({ ref: "c", dependsOn: [{ ref: "b" }, { ref: "a" }] }),
      job({ ref: "b", dependsOn: [{ ref: "a" }] }),
      job({ ref: "a" }),
    ]);
    expect([first?.rank, middle?.rank, last?.rank]).toEqual([1, 2, 3]);
    expect(last?.edges).toEqual([
      { edge_no: 1, parent: 2, alias: "b" },
      { edge_no: 2, parent: 3, alias: "a" },
    ]);
    expect([first?.awaited, middle?.awaited, last?.awaited]).toEqual([true, true, undefined]);
    const inOrder = [job({ ref: "a" }), job({ dependsOn: [{ ref: "a" }] }), job()];
    expect(link(inOrder).map(({ rank }) => rank)).toEqual([undefined, undefined, undefined]);
  });

  test("a cycle is refused with a pointer to one of its edges", () => {
    expect(problemsOf([job({ ref: "a", dependsOn: [{ ref: "a" }] })])).toEqual([["/jobs/0/depends_on/0/ref", "cycle"]]);
    const ring = [
      job({ dependsOn: [{ ref: "a" }] }),
      job({ ref: "free" }),
      job({ ref: "a", dependsOn: [{ ref: "free" }, { ref: "b" }] }),
      job({ ref: "b", dependsOn: [{ ref: "a" }] }),
    ];
    expect(problemsOf(ring)).toEqual([["/jobs/2/depends_on/1/ref", "cycle"]]);
  });

  test("jobs with the same dedupe key are one job, so a cycle through them is refused", () => {
    const jobs = [
      job({ dedupeKey: "k", dependsOn: [{ ref: "b" }] }),
      job({ ref: "b", dependsOn: [{ ref: "same" }] }),
      job({ ref: "same", dedupeKey: "k" }),
    ];
    expect(problemsOf(jobs)).toEqual([["/jobs/0/depends_on/0/ref", "cycle"]]);
    expect(problemsOf([job({ dedupeKey: "k", dependsOn: [{ ref: "x" }] }), job({ ref: "x", dedupeKey: "k" })])).toEqual(
      [["/jobs/0/depends_on/0/ref", "cycle"]],
    );
  });

  test("a chain of 1,000 and a fan of 1,000 need no recursion", () => {
    const chain = Array.from({ length: 1000 }, (_job, index) =>
      job({ ref: `n${index}`, ...(index === 999 ? {} : { dependsOn: [{ ref: `n${index + 1}` }] }) }),
    );
    expect(link(chain).map(({ edges }) => edges.length)).toEqual([...Array(999).fill(1), 0]);
    const fan = [
      ...chain.map(({ ref = "" }) => job({ ref })),
      job({ dependsOn: chain.map(({ ref = "" }) => ({ ref })) }),
    ];
    expect(link(fan).at(-1)?.edges).toHaveLength(1000);
  });

  test.each([
    ["an unknown ref", { dependsOn: [{ ref: "unknown" }] }, "/depends_on/0/ref", "ref-unknown"],
    [
      "an unknown id",
      { dependsOn: [{ jobId: "00000000-0000-7000-8000-00000000000b" }] },
      "/depends_on/0/job_id",
      "job-unknown",
    ],
    ["neither ref nor id", { dependsOn: [{}] }, "/depends_on/0", "required"],
    ["both ref and id", { dependsOn: [{ ref: "a", jobId: OUTER }] }, "/depends_on/0", "required"],
    [
      "a condition without its type",
      { dependsOn: [{ jobId: OUTER, condition: { path: "status", op: "eq", value: "failed" } }] },
      "/depends_on/0/condition",
      "unexpected",
    ],
    [
      "the type without a condition",
      { dependsOn: [{ jobId: OUTER, type: "conditional" }] },
      "/depends_on/0/condition",
      "required",
    ],
    [
      "a condition on nothing",
      { dependsOn: [{ jobId: OUTER, type: "conditional", condition: { path: "constructor", op: "exists" } }] },
      "/depends_on/0/condition/path",
      "path",
    ],
    ["on_parent_failure without parents", { onParentFailure: "run" }, "/on_parent_failure", "unexpected"],
    [
      "a placeholder for an unknown parent",
      { dependsOn: [{ jobId: OUTER, type: "data", as: "p" }], payload: { a: ["{{parents.q.result}}"] } },
      "/payload/a/0",
      "template",
    ],
  ] satisfies [string, Partial<NewJob>, string, string][])(
    "%s is refused with a pointer",
    (_what, part, pointer, code) => {
      expect(problemsOf([job({ ref: "a" }), job(part)])).toEqual([[`/jobs/1${pointer}`, code]]);
    },
  );

  test("two jobs with the same ref and two parents with the same name are refused", () => {
    expect(problemsOf([job({ ref: "a" }), job({ ref: "a" })])).toEqual([["/jobs/1/ref", "ref-duplicate"]]);
    const parents = [
      { ref: "a", as: "x", type: "data" as const },
      { jobId: OUTER, as: "x" },
    ];
    expect(problemsOf([job({ ref: "a" }), job({ dependsOn: parents })])).toEqual([
      ["/jobs/1/depends_on/1/as", "duplicate"],
    ]);
  });

  test("ids are compared case-insensitively and looked up once", () => {
    const jobs = [job({ dependsOn: [{ jobId: OUTER.toUpperCase() }] }), job({ dependsOn: [{ jobId: OUTER }] })];
    expect(outerParents(jobs)).toEqual([OUTER]);
    expect(problemsOf(jobs)).toEqual([]);
  });
});

describe("A-04 results in payloads", () => {
  const compile = (payload: unknown) =>
    compileTemplate(
      payload,
      new Map([
        ["a", 1],
        ["b-2", 2],
      ]),
    );
  const bindingsOf = (payload: unknown) => compile(payload).bindings;
  const faultOf = (payload: unknown) => compile(payload).problems[0]?.detail;

  test("a value that is only a placeholder keeps its type; mixed text is joined", () => {
    expect(bindingsOf({ n: "{{ parents.a.result.rows[0].n }}", plain: "no {braces}" })).toEqual([
      {
        at: ["n"],
        whole: true,
        parts: [{ name: "parents.a.result.rows[0].n", steps: ["1", "result", "rows", "0", "n"] }],
      },
    ]);
    expect(bindingsOf(["x {{parents.b-2.status}}!"])).toEqual([
      {
        at: ["0"],
        whole: false,
        parts: [{ text: "x " }, { name: "parents.b-2.status", steps: ["2", "status"] }, { text: "!" }],
      },
    ]);
    expect(bindingsOf("{{parents.a.result}}")[0]?.at).toEqual([]);
  });

  test("the total size of placeholder paths and the number of placeholders are bounded", () => {
    const below = (name: string, count: number) => ({ [name]: Array(count).fill("{{parents.a.status}}") });
    expect(faultOf(below("a".repeat(90_000), 1))).toBe(undefined);
    expect(faultOf(below("a".repeat(1000), 101))).toContain("keys that are too long");
    expect(faultOf(below("a", 1001))).toContain("1000 placeholders");
    expect(faultOf("{{parents.a.status}}".repeat(1001))).toContain("1000 placeholders");
    expect(faultOf({ ["a".repeat(9000)]: "{{" })).toBe("has {{ without }}");
    expect(compile({ ["a".repeat(9000)]: "{{" }).problems[0]?.pointer.length).toBeLessThan(300);
  });

  test("a default is any JSON, also one that holds braces", () => {
    const defaults = (text: string) => bindingsOf(text)[0]?.parts.map((part) => ("name" in part ? part.default : part));
    expect(defaults('{{parents.a.result.x | default: {"a":{"b":{}},"c":"}}"}}}')).toEqual([{ a: { b: {} }, c: "}}" }]);
    expect(defaults("{{parents.a.result.x|default:null}} y")).toEqual([null, { text: " y" }]);
  });

  test("an escaped {{ stays in the text", () => {
    expect(bindingsOf('{{"{{"}}name}}')).toEqual([
      { at: [], whole: false, parts: [{ text: "{{" }, { text: "name}}" }] },
    ]);
  });

  test.each([
    "{{parents.a.result",
    "{{parents.a}}",
    "{{parents.a.payload}}",
    "{{parents.a.result.}}",
    "{{parents.a.result[-1]}}",
    "{{parents.a.result['x']}}",
    "{{parents.a.result.x | upper}}",
    "{{parents.a.result.x | default: nope}}",
    "{{process.env}}",
    "{{}}",
    '{{"open}}',
  ])("%s is refused when it is saved", (text) => {
    expect(faultOf({ deep: [text] })).toBeTruthy();
    expect(compile({ deep: [text] }).problems[0]?.pointer).toBe("/deep/0");
  });

  test("a text of only braces is parsed in bounded time", () => {
    const started = performance.now();
    expect(faultOf(`{{${"}".repeat(250_000)}`)).toBeTruthy();
    expect(faultOf("{{".repeat(120_000))).toBeTruthy();
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe("A-04 conditions", () => {
  test("a path is split into its steps", () => {
    expect(compileCondition({ path: "result.a-b[2].c", op: "gt", value: 1 })).toMatchObject({
      steps: ["result", "a-b", "2", "c"],
    });
  });

  test.each([
    [{ path: "result.x", op: "gt", value: true }, "/value"],
    [{ path: "result.x", op: "eq", value: {} }, "/value"],
    [{ path: "result.x", op: "in", value: [] }, "/value"],
    [{ path: "result.x", op: "in", value: "abc" }, "/value"],
    [{ path: "result.x", op: "exists", value: 1 }, "/value"],
    [{ path: "result.x", op: "eq", value: "\u0000" }, "/value"],
    [{ path: "result x", op: "exists" }, "/path"],
    [{ path: "resulting", op: "exists" }, "/path"],
    [{ path: "status.x", op: "exists" }, "/path"],
  ] as const)("%j is refused", (condition, pointer) => {
    expect(compileCondition(condition)).toMatchObject([{ pointer }]);
  });
});
