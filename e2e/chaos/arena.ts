import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { retryUndone } from "@/lib/db";
import { createLimit, type DefinitionInput, enqueueJobs, type NewJob } from "@/lib/queue/testing";
import { type CheckOptions, expectSound, type Verdict } from "@/lib/testing/checker";
import type { TestDatabase } from "@/lib/testing/database";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { openStage } from "../processes/stage";
import { nextSeed } from "./profile";
import { randomFrom } from "./random";

export const LEASE_SECONDS = 5;
const BULK = 20;
const SPEAKERS = ["speak", "say"];

/** Makes a build ignore leases, so that a suite must fail with it. */
export const NO_FENCE = { LEASEHOLD_TEST_NO_FENCE: "1" };

/**
 * Opens a stage whose jobs print their attempt number, whose callers record what was accepted, and whose end is
 * checked.
 */
export async function openArena({ on }: { readonly on?: TestDatabase } = {}) {
  const stage = await openStage(on === undefined ? {} : { on });
  const seed = nextSeed();
  const random = randomFrom(seed);
  const accepted: string[] = [];
  const retry = { strategy: "fixed", delay_seconds: 0.2, jitter: 0.5 } as const;
  for (const key of ["speak", "say", "doze", "fail"])
    await stage.define(key, { lease_seconds: LEASE_SECONDS, max_attempts: 50, timeout_seconds: 60, retry });

  const env = { COMMANDS_FILE: path.resolve("e2e/chaos/commands/commands.json") };
  const started: TestProcess[] = [];
  const keep = (one: TestProcess): TestProcess => {
    started.push(one);
    return one;
  };
  const startWorker = async (more: Record<string, string> = {}, stdout?: "full" | "unread") =>
    keep(await stage.startWorker({ ...env, ...more }, stdout));
  const startScheduler = async (more: Record<string, string> = {}) => keep(await stage.startScheduler(more));
  const stopAll = async () => {
    const left = started.splice(0).filter(({ child }) => child.exitCode === null && child.signalCode === null);
    for (const one of left) one.signal("SIGCONT");
    await Promise.all(left.map((one) => one.stop()));
  };

  const anyJob = (): NewJob => {
    const chance = random();
    if (chance < 0.6) return { definitionKey: "speak" };
    if (chance < 0.7) return { definitionKey: "fail", maxAttempts: 2 };
    if (chance < 0.8) return { definitionKey: "speak", scheduledFor: new Date(Date.now() + 2000 * random()) };
    return { definitionKey: "doze", payload: { seconds: random() < 0.5 ? "0.05" : "0.2" } };
  };

  /** Enqueues, and records what was accepted. */
  const enqueueSome = async (jobs: readonly NewJob[], scope = stage.scope): Promise<string[]> => {
    // A busy machine may have no connection in time. Nothing was stored in that case.
    const enqueued = await retryUndone(8, () => enqueueJobs(stage.factory.web, scope, jobs));
    const ids = enqueued.map(({ jobId }) => jobId);
    accepted.push(...ids);
    return ids;
  };
  const enqueueAll = async (count: number, make: () => NewJob = anyJob, scope = stage.scope) => {
    for (let left = count; left > 0; left -= BULK)
      await enqueueSome(Array.from({ length: Math.min(BULK, left) }, make), scope);
  };
  /** Puts jobs of this definition under a wide limit, so that their claim does not mark them as begun. */
  const limitWidely = (definitionKey: string) =>
    createLimit(stage.factory.platform, { scope: "definition", definition_key: definitionKey, max_running: 1000 });
  /** Defines the handler of test builds that harms its worker as its payload says. */
  const defineHarm = (input: Partial<DefinitionInput>) =>
    stage.factory.definition({ key: "harm", executor: "handler", kill_grace_seconds: 1, ...input });
  const waiting = async () => Number((await stage.database.query("select count(*) as n from app.live_jobs"))[0]?.n);

  return {
    ...stage,
    seed,
    env,
    random,
    accepted,
    startWorker,
    startScheduler,
    stopAll,
    alive: () => expectAlive(started.filter(({ child }) => child.exitCode === null && child.signalCode === null)),
    evidence: () => ({ accepted, speakers: SPEAKERS }),
    limitWidely,
    defineHarm,
    enqueueSome,
    enqueueAll,
    waiting,
    between: (low: number, high: number) => low + random() * (high - low),
    pause: (low: number, high: number) => sleep(low + random() * (high - low)),
    drained: (withinMs: number) =>
      waitFor(async () => (await waiting()) === 0, { withinMs, what: "the end of every job" }),
    /** @returns the checker's counts, for the test record */
    check: (options: CheckOptions = {}): Promise<Verdict> =>
      expectSound(stage.database, { accepted, speakers: SPEAKERS, over: true, ...options }),
  };
}

export type Arena = Awaited<ReturnType<typeof openArena>>;

/** Fails if a process had an uncaught error. */
function expectAlive(processes: readonly TestProcess[]): void {
  for (const { output } of processes) {
    expect(output()).not.toMatch(/an uncaught error/);
  }
}
