import { beforeEach, expect, test } from "vitest";
import { leaseKey } from "@/lib/queue/worker";
import { LeaseBatches, packLeases } from "./lease-batches";
import type { HeldLease } from "./lease-protocol";

const HOUR_MS = 3_600_000;
const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;

let now: number;
let watched: Map<string, HeldLease>;
let limits: [string, number][];
let batches: LeaseBatches;

const give = (no: number, count: number, leaseSeconds = 30) =>
  batches.hold(
    packLeases(
      no,
      Array.from({ length: count }, (_, n) => ({
        jobId: idOf(no * 100 + n),
        leaseNo: n + 1,
        leaseSeconds,
        since: now,
        renewForMs: HOUR_MS,
      })),
      now,
    ),
  );
const jobs = () => [...watched.values()].map(({ jobId }) => jobId);

beforeEach(() => {
  now = 1000;
  watched = new Map();
  limits = [];
  const watching = {
    hold: (lease: HeldLease) => void watched.set(leaseKey(lease), lease),
    limit: (lease: { jobId: string }, ms: number) => void limits.push([lease.jobId, ms]),
    drop: (lease: { jobId: string; leaseNo: number }) => void watched.delete(leaseKey(lease)),
  };
  batches = new LeaseBatches(watching, () => now);
});

test("leases dropped within two seconds are never checked", () => {
  give(1, 3);
  now += 1900;
  batches.turn();
  batches.dropBatch(1);
  now += 10_000;
  batches.turn();
  expect(jobs()).toEqual([]);
});

test("longer leases are checked as they were added, except dropped ones", () => {
  give(1, 3);
  batches.drop([1, 1]);
  now += 2000;
  batches.turn();
  expect([...watched.values()]).toEqual([
    { jobId: idOf(100), leaseNo: 1, leaseSeconds: 30, since: 1000, renewForMs: HOUR_MS - 2000 },
    { jobId: idOf(102), leaseNo: 3, leaseSeconds: 30, since: 1000, renewForMs: HOUR_MS - 2000 },
  ]);
  batches.drop([1, 0]);
  expect(jobs()).toEqual([idOf(102)]);
  batches.dropBatch(1);
  expect(jobs()).toEqual([]);
});

test("short leases, those with a process and those with their own limit are checked at once", () => {
  give(1, 2, 5);
  expect(jobs()).toEqual([idOf(100), idOf(101)]);
  give(2, 1);
  batches.watch([2, 0]);
  expect(jobs()).toContain(idOf(200));
  give(3, 1);
  batches.limit([3, 0], 500);
  expect(limits).toEqual([[idOf(300), 500]]);
  expect(jobs()).toContain(idOf(300));
});
