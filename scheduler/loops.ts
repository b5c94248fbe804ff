import {
  beatTerm,
  countDefaultPartitionRows,
  deleteExpired,
  ensurePartitions,
  expireJobs,
  foldStatDeltas,
  hasOpenActions,
  notifyChanges,
  notifyWork,
  promoteDueJobs,
  pruneWorkers,
  rescueExpiredLeases,
  sweepDependents,
  takeBulkAction,
  workOffChunk,
} from "@/lib/queue";
import { mayStillAct } from "@/lib/tenancy/standing";
import type { Loop } from "./run-loops";

const BATCH = 1000;
const SECOND = 1000;
const HOUR = 3600 * SECOND;

/**
 * Everything the leader does by the clock, on one screen. `again` says that a batch was full and more is waiting. Each
 * turn runs in a transaction that first makes sure that this scheduler still leads (`inTerm`).
 */
export const LOOPS: readonly Loop[] = [
  {
    name: "sign of life",
    everyMs: SECOND,
    turn: async ({ db, leader }) => {
      await beatTerm(db, leader);
      return { again: false };
    },
  },
  {
    name: "promote due jobs",
    everyMs: 250,
    turn: async ({ inTerm, db }) => {
      const { laneNos, count } = await inTerm((tx) => promoteDueJobs(tx, { limit: BATCH }));
      notifyWork(db, laneNos);
      notifyChanges(db, laneNos);
      return { again: count === BATCH };
    },
  },
  {
    name: "rescue expired leases",
    everyMs: SECOND,
    turn: async ({ inTerm, db, log, random, retry }) => {
      const sweep = await inTerm((tx) => rescueExpiredLeases(tx, { limit: BATCH, random, retry }));
      const { laneNos, rescued, ended, unstorable } = sweep;
      if (unstorable.length > 0)
        log.error({ job_ids: unstorable.slice(0, 10) }, "leases that ran out cannot be taken back");
      if (rescued + ended > 0) log.warn({ rescued, ended }, "leases ran out");
      notifyWork(db, laneNos);
      notifyChanges(db, laneNos);
      return { again: rescued + ended === BATCH };
    },
  },
  {
    name: "expire waiting jobs",
    everyMs: SECOND,
    turn: async ({ inTerm, db }) => {
      const { laneNos, count } = await inTerm((tx) => expireJobs(tx, { limit: BATCH }));
      notifyWork(db, laneNos);
      notifyChanges(db, laneNos);
      return { again: count === BATCH };
    },
  },
  {
    name: "look after blocked jobs",
    everyMs: SECOND,
    turn: sweepTurn(),
  },
  {
    name: "work off bulk actions",
    everyMs: SECOND,
    turn: async ({ inTerm, db, web, leader }) => {
      const taken = (await hasOpenActions(db)) ? await inTerm((tx) => takeBulkAction(tx, leader.term)) : null;
      if (taken) await workOffChunk(web, taken, mayStillAct);
      return { again: taken !== null };
    },
  },
  {
    name: "fold figures",
    everyMs: SECOND,
    turn: async ({ inTerm }) => ({ again: (await inTerm(foldStatDeltas)) > 0 }),
  },
  {
    name: "make partitions",
    everyMs: HOUR,
    turn: async ({ inTerm, db, log }) => {
      const made = await inTerm(ensurePartitions);
      if (made > 0) log.info({ made }, "made partitions for the coming days");
      const stray = await countDefaultPartitionRows(db);
      if (stray > 0) log.error({ rows: stray }, "rows lie in a DEFAULT partition: a day was missing");
      return { again: false };
    },
  },
  {
    name: "delete what is over",
    everyMs: HOUR,
    turn: async ({ inTerm }) => ({ again: (await inTerm(deleteExpired)) >= BATCH }),
  },
  {
    name: "forget silent workers",
    everyMs: HOUR,
    turn: async ({ inTerm }) => {
      await inTerm(pruneWorkers);
      return { again: false };
    },
  },
];

/** Goes over the blocked jobs part by part, one part in each turn. */
function sweepTurn(): Loop["turn"] {
  let after: string | undefined;
  return async ({ inTerm, db, log }) => {
    const { last, healed, laneNos } = await inTerm((tx) => sweepDependents(tx, { after, limit: BATCH }));
    after = last;
    if (healed > 0) log.error({ healed }, "jobs were blocked although nothing kept them; they were released");
    notifyWork(db, laneNos);
    notifyChanges(db, laneNos);
    return { again: false };
  };
}
