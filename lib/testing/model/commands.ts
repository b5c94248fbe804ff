import fc from "fast-check";
import { expect } from "vitest";
import {
  type AttemptEnd,
  acceptBulkAction,
  cancelJob,
  changeJob,
  claimJobs,
  decideEnd,
  type ExecutionEnd,
  expireJobs,
  extendLeases,
  getBulkAction,
  leaseKey,
  pauseJob,
  promoteDueJobs,
  rescueExpiredLeases,
  resumeJob,
  retryJob,
  settleAttempts,
  startAttempts,
  takeBulkAction,
  workOffChunk,
} from "@/lib/queue/testing";
import { afterFailure, BACKOFF_MS } from "./ends";
import { enqueue, enqueueChild } from "./enqueue-steps";
import { LEASE_MS, type QueueModel } from "./model";
import type { EndModel, LeaseModel } from "./shapes";
import {
  aJob,
  aLease,
  type ModelAction,
  type ModelStep,
  modelStep,
  NOBODY,
  type Real,
  refusalCodeOf,
  SECOND,
  SWEEP,
} from "./step";

const limit = modelStep(
  "limit",
  fc.record({
    running: fc.constantFrom(null, 1, 2, 3),
    // With whole seconds these are exact in binary.
    starts: fc.constantFrom(null, null, { perSecond: 0.0625, burst: 2 }, { perSecond: 0.25, burst: 3 }),
  }),
  (limit) =>
    async (model, { setLimit }) => {
      await setLimit(limit);
      model.limits.set(limit);
    },
);

const claim = modelStep(
  "claim",
  fc.record({ limit: fc.integer({ min: 1, max: 3 }), worker: fc.nat(1) }),
  ({ limit, worker }) =>
    async (model, real) => {
      const workerId = `worker-${worker}`;
      const asked = (await real.lanes()).map((laneNo) => ({
        laneNo,
        limit,
        leaseSeconds: LEASE_MS / SECOND,
        limited: model.limits.any,
      }));
      const claimed = await claimJobs(real.make.worker, { workerId, lanes: asked, limit });
      const ready = model.readyJobs();
      expect(claimed.length).toBe(Math.min(limit, ready.length, model.capacity()));
      for (const job of claimed) {
        const known = ready.find(({ id }) => id === job.jobId);
        if (!known) throw new Error(`${job.jobId} was claimed and is not ready`);
        const ahead = ready.filter(
          (other) => other.priority === known.priority && model.sortKey(other) < model.sortKey(known),
        );
        expect(claimed.map(({ jobId }) => jobId)).toEqual(expect.arrayContaining(ahead.map(({ id }) => id)));
      }
      for (const job of claimed) {
        const { jobId, leaseNo } = job;
        model.claim(jobId, workerId);
        expect(leaseNo).toBe(model.leases.at(-1)?.leaseNo);
        expect(job.payload).toEqual(model.jobs.get(jobId)?.payload);
        real.claimed.set(leaseKey(job), job);
      }
    },
);

const leaseStep = (name: string, act: (lease: LeaseModel) => ModelAction) =>
  modelStep(name, fc.nat(11), (n) => (model, real) => act(aLease(model, n))(model, real));

const start = leaseStep("start", (lease) => async (model, { make }) => {
  const leased = model.leased(lease);
  const isInTime = (leased?.expiresAt ?? Number.POSITIVE_INFINITY) > model.now;
  const { begun, expired } = await startAttempts(make.worker, [lease]);
  expect([begun, expired]).toEqual([leased && isInTime ? [lease.jobId] : [], leased && !isInTime ? [lease.jobId] : []]);
  if (leased && isInTime) leased.startedAt = model.now;
});

const extend = leaseStep("extend", (lease) => async (model, { make }) => {
  const leased = model.leased(lease);
  const answer = await extendLeases(make.worker, [{ ...lease, leaseSeconds: LEASE_MS / SECOND }]);
  expect(answer.lost).toEqual(leased ? [] : [lease.jobId]);
  expect(answer.cancelRequested).toEqual(leased && leased.cancelAt !== null ? [lease.jobId] : []);
  if (leased) leased.leaseEndsAt = model.now + LEASE_MS;
});

async function settle(
  model: QueueModel,
  { make, scope }: Real,
  given: { lease: LeaseModel; end: EndModel; sent?: AttemptEnd | undefined },
) {
  const { lease, end } = given;
  const sent: AttemptEnd = given.sent ?? {
    ...lease,
    tenantId: scope.tenantId,
    status: end.status,
    spent: end.spent,
    ...(end.outcome === undefined ? { retryInSeconds: (end.retryInMs ?? 0) / SECOND } : { outcome: end.outcome }),
    ...(end.n === undefined || end.n === null ? {} : { result: { n: end.n } }),
  };
  const answer = await settleAttempts(make.worker, [sent]);
  const answers = (["settled", "canceled", "lost", "locked", "refused", "unstorable"] as const).filter(
    (name) => answer[name].length > 0,
  );
  expect(answers).toEqual([model.settle(lease, end)]);
}

const succeed = modelStep(
  "succeed",
  fc.record({ lease: fc.nat(11), n: fc.constantFrom(null, 0, 1, 1, 2) }),
  ({ lease, n }) =>
    (model, real) =>
      settle(model, real, {
        lease: aLease(model, lease),
        end: { status: "succeeded", spent: true, outcome: "succeeded", n },
      }),
);
const release = leaseStep(
  "release",
  (lease) => (model, real) => settle(model, real, { lease, end: { status: "released", spent: false, retryInMs: 0 } }),
);
/** The end of an attempt whose handler called `ctx.snooze`. */
const snooze = leaseStep("snooze", (lease) => (model, real) => {
  const end = { status: "snoozed", spent: false, retryInMs: 45 * SECOND } as const;
  return settle(model, real, { lease, end, sent: decided(lease, real, { kind: "snoozed", seconds: 45 }) });
});
const acknowledgeCancel = leaseStep(
  "end as canceled",
  (lease) => (model, real) =>
    settle(model, real, { lease, end: { status: "canceled", spent: false, outcome: "canceled" } }),
);

/** Returns the worker's own decision about a lease that was handed out. */
function decided(lease: LeaseModel, real: Real, execution: ExecutionEnd): AttemptEnd | undefined {
  const claimed = real.claimed.get(leaseKey(lease));
  return claimed && decideEnd({ claimed, definition: real.definition, execution }, () => 0.5);
}

/** Compares the worker's own decision with the model's. */
const fail = leaseStep("fail", (lease) => (model, real) => {
  const claimed = real.claimed.get(leaseKey(lease));
  if (!claimed) return settle(model, real, { lease, end: { status: "failed", spent: true, retryInMs: BACKOFF_MS } });
  const execution = { kind: "failed", errorType: "transient_network", message: "no", retryable: true } as const;
  const end = afterFailure(model.jobs.get(lease.jobId), claimed.attemptsSpent);
  return settle(model, real, { lease, end, sent: decided(lease, real, execution) });
});

const cancel = modelStep("cancel", fc.nat(11), (n) => async (model, { make, scope }) => {
  const id = aJob(model, n);
  const code = await refusalCodeOf(cancelJob(make.web, scope, id));
  if (id === NOBODY) expect(code).toBe("not-found");
  else expect(code).toBe(model.cancel(id) === "conflict" ? "state-conflict" : null);
});

const pause = modelStep("pause", fc.nat(11), (n) => async (model, { make, scope }) => {
  const id = aJob(model, n);
  expect(await refusalCodeOf(pauseJob(make.web, scope, id))).toBe(unless(model.pause(id), id));
});

const resume = modelStep("resume", fc.nat(11), (n) => async (model, { make, scope }) => {
  const id = aJob(model, n);
  expect(await refusalCodeOf(resumeJob(make.web, scope, id))).toBe(unless(model.resume(id), id));
});

const unless = (done: boolean, id: string) => (done ? null : id === NOBODY ? "not-found" : "state-conflict");

const change = modelStep(
  "change",
  fc.record({ n: fc.nat(11), priority: fc.constantFrom(null, 10, 180), seconds: fc.constantFrom(null, -9, 30, 90) }),
  ({ n, priority, seconds }) =>
    async (model, { make, scope }) => {
      if (priority === null && seconds === null) return;
      const jobId = aJob(model, n);
      const at = seconds === null ? null : model.now + seconds * SECOND;
      const scheduledFor = at === null ? {} : { scheduled_for: new Date(at).toISOString() };
      const asked = { jobId, ...(priority === null ? {} : { priority }), ...scheduledFor };
      const code = await refusalCodeOf(changeJob(make.web, scope, asked));
      expect(code).toBe(jobId === NOBODY ? "not-found" : model.change(jobId, { priority, at }));
    },
);

const retry = modelStep("retry", fc.nat(11), (n) => async (model, { make, scope }) => {
  const jobId = aJob(model, n);
  const code = await refusalCodeOf(retryJob(make.web, scope, { jobId }));
  const expected = { retried: null, conflict: "state-conflict", "dedupe-taken": "dedupe-taken" };
  expect(code).toBe(jobId === NOBODY ? "not-found" : expected[model.retry(jobId)]);
});

/** Redrives dead letters with one bulk action: the listed ones, or all. */
const redrive = modelStep(
  "redrive",
  fc.record({ picks: fc.oneof(fc.constant(null), fc.array(fc.nat(11), { minLength: 1, maxLength: 4 })) }),
  ({ picks }) =>
    async (model, { make, scope }) => {
      const named = picks && [...new Set(picks.map((n) => aJob(model, n)))];
      const target = named ? { job_ids: named } : { dead_letters: {} };
      const { id } = await acceptBulkAction(make.web, scope, { action: "redrive", target });
      for (let turn = await takeBulkAction(make.scheduler, 1); turn; turn = await takeBulkAction(make.scheduler, 1))
        await workOffChunk(make.web, turn, async () => true);
      const action = await getBulkAction(make.web, scope, id);
      const done = model.redrive(named ?? [...model.jobs.keys()]);
      expect([action?.status, action?.done]).toEqual(["done", done]);
    },
);

const always = <T>(value: T) => fc.constant(value);
const promote = modelStep("promote", always(0), () => async (model, { make }) => {
  expect((await promoteDueJobs(make.scheduler, SWEEP)).count).toBe(model.promote());
});
const expire = modelStep("expire", always(0), () => async (model, { make }) => {
  expect((await expireJobs(make.scheduler, SWEEP)).count).toBe(model.expire());
});
const rescue = modelStep("rescue", always(0), () => async (model, { make }) => {
  const { rescued, ended } = await rescueExpiredLeases(make.scheduler, { ...SWEEP, random: () => 0 });
  expect(rescued + ended).toBe(model.rescue());
});
const wait = modelStep("wait", fc.constantFrom(1, 5, 25, 35, 61), (seconds) => async (model, { setClock }) => {
  model.now += seconds * SECOND;
  await setClock(model.now);
});

/** Any step; steps that create and claim work are more frequent. */
export const anyStep: fc.Arbitrary<ModelStep> = fc.oneof(
  { weight: 6, arbitrary: enqueue },
  { weight: 3, arbitrary: enqueueChild },
  { weight: 1, arbitrary: limit },
  { weight: 6, arbitrary: claim },
  { weight: 3, arbitrary: start },
  { weight: 2, arbitrary: extend },
  { weight: 2, arbitrary: succeed },
  { weight: 3, arbitrary: fail },
  { weight: 1, arbitrary: release },
  { weight: 1, arbitrary: snooze },
  { weight: 1, arbitrary: acknowledgeCancel },
  { weight: 2, arbitrary: cancel },
  { weight: 2, arbitrary: retry },
  { weight: 2, arbitrary: redrive },
  { weight: 2, arbitrary: pause },
  { weight: 2, arbitrary: resume },
  { weight: 1, arbitrary: change },
  { weight: 2, arbitrary: promote },
  { weight: 1, arbitrary: expire },
  { weight: 2, arbitrary: rescue },
  { weight: 4, arbitrary: wait },
);
