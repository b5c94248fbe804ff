import fc from "fast-check";
import { expect } from "vitest";
import {
  type AttemptEnd,
  cancelJob,
  changeJob,
  claimJobs,
  decideEnd,
  expireJobs,
  extendLeases,
  pauseJob,
  promoteDueJobs,
  rescueExpiredLeases,
  resumeJob,
  retryJob,
  settleAttempts,
  startAttempts,
} from "@/lib/queue";
import { enqueue, enqueueChild } from "./enqueue-steps";
import { BACKOFF_MS, LEASE_MS, type QueueModel } from "./model";
import type { EndModel, LeaseModel } from "./shapes";
import { type Act, aJob, aLease, keyOf, NOBODY, type Real, refusal, SECOND, type Step, SWEEP, step } from "./step";

const limit = step("limit", fc.constantFrom(null, 1, 2, 3), (maxRunning) => async (model, { setLimit }) => {
  await setLimit(maxRunning);
  model.limit = maxRunning;
});

const claim = step(
  "claim",
  fc.record({ limit: fc.integer({ min: 1, max: 3 }), worker: fc.nat(1) }),
  ({ limit, worker }) =>
    async (model, real) => {
      const workerId = `worker-${worker}`;
      const asked = (await real.lanes()).map((laneNo) => ({
        laneNo,
        limit,
        leaseSeconds: LEASE_MS / SECOND,
        limited: model.limit !== null,
      }));
      const claimed = await claimJobs(real.make.worker, { workerId, lanes: asked, limit });
      const ready = model.readyJobs();
      expect(claimed.length).toBe(Math.min(limit, ready.length, model.room()));
      for (const job of claimed) {
        const known = ready.find(({ id }) => id === job.jobId);
        if (!known) throw new Error(`${job.jobId} was claimed and is not ready`);
        const ahead = ready.filter(
          (other) => other.priority === known.priority && model.sortKey(other) < model.sortKey(known),
        );
        expect(claimed.map(({ jobId }) => jobId)).toEqual(expect.arrayContaining(ahead.map(({ id }) => id)));
      }
      for (const { jobId, leaseNo } of claimed) {
        model.claim(jobId, workerId);
        expect(leaseNo).toBe(model.leases.at(-1)?.leaseNo);
      }
    },
);

const leaseStep = (name: string, act: (lease: LeaseModel) => Act) =>
  step(name, fc.nat(11), (n) => (model, real) => act(aLease(model, n))(model, real));

const start = leaseStep("start", (lease) => async (model, { make }) => {
  const held = model.held(lease);
  expect(await startAttempts(make.worker, [lease])).toEqual(held ? [lease.jobId] : []);
  if (held) held.startedAt = model.now;
});

const extend = leaseStep("extend", (lease) => async (model, { make }) => {
  const held = model.held(lease);
  const answer = await extendLeases(make.worker, [{ ...lease, leaseSeconds: LEASE_MS / SECOND }]);
  expect(answer.lost).toEqual(held ? [] : [lease.jobId]);
  expect(answer.cancelRequested).toEqual(held && held.cancelAt !== null ? [lease.jobId] : []);
  if (held) held.leaseEndsAt = model.now + LEASE_MS;
});

async function settle(
  model: QueueModel,
  { make, scope }: Real,
  given: { lease: LeaseModel; end: EndModel; sent?: AttemptEnd },
) {
  const { lease, end } = given;
  const sent: AttemptEnd = given.sent ?? {
    ...lease,
    tenantId: scope.tenantId,
    status: end.status,
    spent: end.spent,
    ...(end.outcome === undefined ? { retryInSeconds: (end.retryInMs ?? 0) / SECOND } : { outcome: end.outcome }),
  };
  const answer = await settleAttempts(make.worker, [sent]);
  const told = (["settled", "canceled", "lost", "locked", "refused", "unstorable"] as const).filter(
    (name) => answer[name].length > 0,
  );
  expect(told).toEqual([model.settle(lease, end)]);
}

const succeed = leaseStep(
  "succeed",
  (lease) => (model, real) =>
    settle(model, real, { lease, end: { status: "succeeded", spent: true, outcome: "succeeded" } }),
);
const release = leaseStep(
  "release",
  (lease) => (model, real) => settle(model, real, { lease, end: { status: "released", spent: false, retryInMs: 0 } }),
);
const snooze = leaseStep(
  "snooze",
  (lease) => (model, real) =>
    settle(model, real, { lease, end: { status: "snoozed", spent: false, retryInMs: 45 * SECOND } }),
);
const acknowledgeCancel = leaseStep(
  "end as canceled",
  (lease) => (model, real) =>
    settle(model, real, { lease, end: { status: "canceled", spent: false, outcome: "canceled" } }),
);

/** The worker's own decision, against the model's. */
const fail = leaseStep("fail", (lease) => async (model, real) => {
  const claimed = real.claimed.get(keyOf(lease));
  if (!claimed) return settle(model, real, { lease, end: { status: "failed", spent: true, retryInMs: BACKOFF_MS } });
  const execution = { kind: "failed", errorType: "transient_network", message: "no", retryable: true } as const;
  const sent = decideEnd({ claimed, definition: real.definition, execution }, () => 0.5);
  await settle(model, real, { lease, end: model.failure(lease, claimed.attemptsSpent), sent });
});

const cancel = step("cancel", fc.nat(11), (n) => async (model, { make, scope }) => {
  const id = aJob(model, n);
  const code = await refusal(cancelJob(make.web, scope, id));
  if (id === NOBODY) expect(code).toBe("not-found");
  else expect(code).toBe(model.cancel(id) === "conflict" ? "state-conflict" : null);
});

const pause = step("pause", fc.nat(11), (n) => async (model, { make, scope }) => {
  const id = aJob(model, n);
  expect(await refusal(pauseJob(make.web, scope, id))).toBe(unless(model.pause(id), id));
});

const resume = step("resume", fc.nat(11), (n) => async (model, { make, scope }) => {
  const id = aJob(model, n);
  expect(await refusal(resumeJob(make.web, scope, id))).toBe(unless(model.resume(id), id));
});

const unless = (done: boolean, id: string) => (done ? null : id === NOBODY ? "not-found" : "state-conflict");

const change = step(
  "change",
  fc.record({ n: fc.nat(11), priority: fc.constantFrom(null, 10, 180), seconds: fc.constantFrom(null, -9, 30, 90) }),
  ({ n, priority, seconds }) =>
    async (model, { make, scope }) => {
      if (priority === null && seconds === null) return;
      const jobId = aJob(model, n);
      const at = seconds === null ? null : model.now + seconds * SECOND;
      const scheduledFor = at === null ? {} : { scheduledFor: new Date(at) };
      const asked = { jobId, ...(priority === null ? {} : { priority }), ...scheduledFor };
      const code = await refusal(changeJob(make.web, scope, asked));
      expect(code).toBe(jobId === NOBODY ? "not-found" : model.change(jobId, { priority, at }));
    },
);

const retry = step("retry", fc.nat(11), (n) => async (model, { make, scope }) => {
  const jobId = aJob(model, n);
  const code = await refusal(retryJob(make.web, scope, { jobId }));
  const expected = { retried: null, conflict: "state-conflict", "dedupe-taken": "dedupe-taken" };
  expect(code).toBe(jobId === NOBODY ? "not-found" : expected[model.retry(jobId)]);
});

const always = <T>(value: T) => fc.constant(value);
const promote = step("promote", always(0), () => async (model, { make }) => {
  expect((await promoteDueJobs(make.scheduler, SWEEP)).count).toBe(model.promote());
});
const expire = step("expire", always(0), () => async (model, { make }) => {
  expect((await expireJobs(make.scheduler, SWEEP)).count).toBe(model.expire());
});
const rescue = step("rescue", always(0), () => async (model, { make }) => {
  const { rescued, ended } = await rescueExpiredLeases(make.scheduler, { ...SWEEP, random: () => 0 });
  expect(rescued + ended).toBe(model.rescue());
});
const wait = step("wait", fc.constantFrom(1, 5, 25, 35, 61), (seconds) => async (model, { setClock }) => {
  model.now += seconds * SECOND;
  await setClock(model.now);
});

/** Any step; those that make work and take it come more often. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
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
  { weight: 2, arbitrary: pause },
  { weight: 2, arbitrary: resume },
  { weight: 1, arbitrary: change },
  { weight: 2, arbitrary: promote },
  { weight: 1, arbitrary: expire },
  { weight: 2, arbitrary: rescue },
  { weight: 4, arbitrary: wait },
);
