import fc from "fast-check";
import { expect } from "vitest";
import { enqueueJob } from "@/lib/queue";
import type { EdgeModel } from "./shapes";
import { aJob, SECOND, step } from "./step";

const HOLD_FOR_EVER = 1e300;

export const enqueue = step(
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
      model.add({ id: enqueued.jobId, priority, maxAttempts, key, edges: [], onParentFailure: "cancel" }, times);
    },
);

/** A job that waits for one or two others. */
export const enqueueChild = step(
  "enqueue child",
  fc.record({
    parents: fc.array(fc.record({ n: fc.nat(11), type: fc.constantFrom("success", "completion") }), {
      minLength: 1,
      maxLength: 2,
    }),
    onParentFailure: fc.constantFrom("cancel", "fail", "run"),
    delay: fc.constantFrom(0, 0, 40),
  }),
  ({ parents, onParentFailure, delay }) =>
    async (model, { make, scope, definition }) => {
      if (model.jobs.size === 0) return;
      const chosen = new Map(parents.map(({ n, type }) => [aJob(model, n), type]));
      const edges: EdgeModel[] = [...chosen].map(([parentId, type]) => ({ parentId, type, state: "pending" }));
      const scheduledFor = model.now + delay * SECOND;
      const { jobId } = await enqueueJob(make.web, scope, {
        definitionKey: definition.key,
        maxAttempts: 2,
        dependsOn: edges.map((edge) => ({ jobId: edge.parentId, type: edge.type })),
        onParentFailure,
        ...(delay > 0 ? { scheduledFor: new Date(scheduledFor) } : {}),
      });
      const job = { id: jobId, priority: 100, maxAttempts: 2, key: null, edges, onParentFailure };
      model.add(job, { scheduledFor, expiresAt: null, heldUntil: null });
    },
);
