/*
 * Fault tests with real processes: workers are killed, frozen, restarted and cut off from the database, and then the
 * checker inspects the tables. The long form repeats each suite with a deliberately broken build, in which the checker
 * must find something; otherwise the suite proves nothing.
 *
 * Start with `suite` below, then `arena.ts` (processes and jobs under faults) and `proxy.ts` (a faulty network).
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Bound } from "@/lib/testing/checker";
import { inspect } from "@/lib/testing/checker";
import { waitFor } from "@/lib/testing/processes";
import { type Arena, NO_FENCE } from "./arena";
import { isLong, REPEATS } from "./profile";

/** Settings for the processes of a suite: those of a sound build, or of a deliberately broken one. */
export type Build = Readonly<Record<string, string>>;

export interface Played {
  readonly arena: Arena;
  /** For the test record. */
  readonly told: string;
  readonly bounds?: readonly Bound[];
  /** Additional checks, beside the rules of the checker. */
  readonly verify?: () => Promise<void> | void;
}

const SHORT_MS = 300_000;
const LONG_MS = 60 * 60_000;
const DRAIN_MS = isLong ? 30 * 60_000 : 90_000;
/** A broken build may lose jobs forever, so it gets less time. */
export const BROKEN_DRAIN_MS = 30_000;

export const isBroken = (build: Build): boolean => Object.keys(build).length > 0;

/** A deliberately broken build. */
interface Broken {
  readonly what: string;
  readonly build: Build;
  /** Fails when nothing wrong is found. */
  readonly expectCaught: (played: Played) => Promise<void>;
}

const WITHOUT_LEASES: Broken = {
  what: "a build without leases",
  build: NO_FENCE,
  expectCaught: async ({ arena, bounds = [] }) => {
    await waitFor(async () => (await arena.waiting()) === 0, { withinMs: BROKEN_DRAIN_MS }).catch(() => sleep(0));
    const { counts, breaches } = await inspect(arena.database, { ...arena.evidence(), bounds });
    expect(breaches.length, JSON.stringify(counts)).toBeGreaterThan(0);
  },
};

export const WITHOUT_QUARANTINE: Broken = {
  what: "a build without quarantine",
  build: { LEASEHOLD_TEST_NO_QUARANTINE: "1" },
  expectCaught: ({ verify }) => expect(Promise.resolve().then(verify)).rejects.toThrow(),
};

/**
 * Runs faults as often as requested, waits until every job has ended, and lets the checker inspect the tables. In the
 * long form the same runs with a deliberately broken build, by default one without leases, in which something must be
 * found.
 */
export function suite(name: string, play: (build: Build) => Promise<Played>, broken: Broken = WITHOUT_LEASES): void {
  const runs = Array.from({ length: REPEATS }, (_, run) => (run === 0 ? name : `${name}: run ${run + 1}`));
  test.for(runs)("%s", { timeout: isLong ? LONG_MS : SHORT_MS }, async () => {
    const { arena, told, bounds = [], verify } = await play({});
    await arena.drained(DRAIN_MS);
    const { counts, jobs, attempts } = await arena.check({ bounds });
    await verify?.();
    console.info(`seed ${arena.seed}: ${told}; ${jobs} jobs, ${attempts} attempts, ${JSON.stringify(counts)}`);
    await arena.stopAll();
  });
  test.runIf(isLong)(`${name}: ${broken.what} is caught`, { timeout: LONG_MS }, async () => {
    const played = await play(broken.build);
    await broken.expectCaught(played);
    await played.arena.stopAll();
  });
}
