import fc from "fast-check";
import { expect } from "vitest";
import { type Dependency, enqueueJob } from "@/lib/queue/testing";
import type { EdgeModel } from "./shapes";
import { aJob, modelStep, SECOND } from "./step";

const HOLD_FOR_EVER = 1e300;
/** The defaults of most jobs. */
const PLAIN = { priority: 100, key: null, onParentFailure: "cancel", payload: {}, fallback: null } as const;

export const enqueue = modelStep(
  "enqueue",
  fc.record({
    priority: fc.constantFrom(10, 100, 100, 180),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    delay: fc.constantFrom(0, 0, 0, 40),
    expires: fc.constantFrom(0, 0, 0, 60),
    key: fc.constantFrom(null, null, "a", "b"),
    mode: fc.constantFrom("live", "live", "window", "retained"),
  }),
  ({ priority, maxAttempts, delay, expires, key, mode }) =>
    async (model, { make, scope, definition }) => {
      const scheduledFor = model.now + delay * SECOND;
      const expiresAt = expires > 0 ? scheduledFor + expires * SECOND : null;
      const holder = key === null ? null : model.holderOf(key);
      const enqueued = await enqueueJob(make.web, scope, {
        definitionKey: definition.key,
        priority,
        maxAttempts,
        ...(delay > 0 ? { scheduledFor: new Date(scheduledFor) } : {}),
        ...(expiresAt === null ? {} : { expiresAt: new Date(expiresAt) }),
        ...(key === null
          ? {}
          : { dedupeKey: key, dedupe: { mode, ...(mode === "window" ? { windowSeconds: 50 } : {}) } }),
      });
      expect([enqueued.deduplicated, holder ?? enqueued.jobId]).toEqual([holder !== null, enqueued.jobId]);
      if (holder !== null) return;
      const held = { live: null, window: model.now + 50 * SECOND, retained: HOLD_FOR_EVER }[mode];
      const times = { scheduledFor, expiresAt, heldUntil: key === null ? null : held };
      model.add({ ...PLAIN, id: enqueued.jobId, priority, maxAttempts, key, edges: [] }, times);
    },
);

const edge: fc.Arbitrary<Pick<EdgeModel, "type" | "condition">> = fc.oneof(
  fc.record({ type: fc.constantFrom("success", "completion", "data"), condition: fc.constant(null) }),
  fc.record({
    type: fc.constant("conditional"),
    condition: fc.constantFrom(
      { about: "status", op: "eq", value: "dead_letter" },
      { about: "n", op: "eq", value: 1 },
      { about: "n", op: "gt", value: 0 },
    ),
  }),
);

/** Enqueues a job that depends on one or two others, and may take in numbers from their results. */
export const enqueueChild = modelStep(
  "enqueue child",
  fc.record({
    parents: fc.array(fc.tuple(fc.nat(11), edge), { minLength: 1, maxLength: 2 }),
    onParentFailure: fc.constantFrom("cancel", "fail", "run"),
    delay: fc.constantFrom(0, 0, 40),
    fallback: fc.constantFrom(null, null, 7),
  }),
  ({ parents, onParentFailure, delay, fallback }) =>
    async (model, { make, scope, definition }) => {
      if (model.jobs.size === 0) return;
      const chosen = new Map(parents.map(([n, edge]) => [aJob(model, n), edge]));
      const edges = [...chosen].map(([parentId, edge]): EdgeModel => ({ ...edge, parentId, state: "pending" }));
      const scheduledFor = model.now + delay * SECOND;
      const results = edges.flatMap(({ type }, n) => (type === "data" ? [placeholder(n, fallback)] : []));
      const payload = results.length > 0 ? results : {};
      const { jobId } = await enqueueJob(make.web, scope, {
        definitionKey: definition.key,
        maxAttempts: 2,
        payload,
        dependsOn: edges.map(toDependency),
        onParentFailure,
        ...(delay > 0 ? { scheduledFor: new Date(scheduledFor) } : {}),
      });
      const job = { ...PLAIN, id: jobId, maxAttempts: 2, edges, onParentFailure, payload, fallback };
      model.add(job, { scheduledFor, expiresAt: null, heldUntil: null });
    },
);

const placeholder = (n: number, fallback: number | null): string =>
  `{{parents.p${n}.result.n${fallback === null ? "" : ` | default: ${fallback}`}}}`;

function toDependency({ parentId, type, condition }: EdgeModel, n: number): Dependency {
  const wanted = { jobId: parentId, as: `p${n}`, type };
  if (condition === null) return wanted;
  const path = condition.about === "status" ? "status" : "result.n";
  return { ...wanted, condition: { path, op: condition.op, value: condition.value } };
}
