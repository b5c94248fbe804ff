import { DatabaseError } from "@/lib/db";
import {
  beatTerm,
  CHANNELS,
  deleteExpired,
  deleteStrayArtifacts,
  fanOutPending,
  fireDueSchedules,
  foldStatDeltas,
  hasReleasesLeft,
  LeaseWatch,
  listTzVersions,
  makeDays,
  msToNextSchedule,
  notifyChanges,
  notifyWork,
  partitionProblem,
  passOverBlocked,
  pruneSchedulers,
  pruneWorkers,
  sweepDependents,
  tenantsWithPendingEvents,
  workOffReleases,
} from "@/lib/queue/scheduler";
import { bulkTurn } from "./bulk-turn";
import { expireTurn, promoteTurn, recordRunningTurn, rescueTurn } from "./due-turns";
import type { Loop, TurnContext } from "./run-loops";
import { watchFolders } from "./watch-folders";
import { snapshots } from "./watch-snapshots";

const BATCH = 1000;
/** Schedules per transaction: few, because the next leader has to wait for the transaction. */
const SCHEDULES_BATCH = 100;
/** Pause after a batch that was not full, so that schedules that come due meanwhile share the next batch. */
const GATHER_MS = 50;
/** Artifacts per transaction: few, because each may have hundreds of chunks. */
const STRAYS_BATCH = 20;
const SECOND = 1000;
const HOUR = 3600 * SECOND;
/**
 * Connections of the web role: one for each loop that acts for tenants (events, folders, bulk actions), so that no loop
 * waits while a tenant keeps another loop busy.
 */
export const WEB_POOL = 3;
const leases = new LeaseWatch();

/**
 * Everything the leader does by the clock. `again` means that a batch was full and more work is waiting. Turns that use
 * `inTerm` run in a transaction that first checks that this scheduler is still the leader.
 */
export const LOOPS: readonly Loop[] = [
  {
    name: "heartbeat",
    everyMs: SECOND,
    beforeOthers: true,
    turn: async ({ db, leader }) => {
      await beatTerm(db, leader);
      return { again: false };
    },
  },
  {
    name: "promote due jobs",
    everyMs: 250,
    turn: promoteTurn(),
  },
  {
    name: "fire due schedules",
    // The loop sleeps until the next schedule is due. `everyMs` limits the delay after a missed change or a clock step.
    everyMs: 2 * SECOND,
    hint: CHANNELS.schedules,
    turn: fireTurn(),
  },
  {
    name: "rescue expired leases",
    everyMs: SECOND,
    turn: rescueTurn(leases),
  },
  {
    name: "record running jobs",
    everyMs: 10 * SECOND,
    turn: recordRunningTurn(leases),
  },
  {
    name: "expire waiting jobs",
    everyMs: SECOND,
    turn: expireTurn(),
  },
  {
    name: "release dependents",
    everyMs: 250,
    turn: async ({ inTerm, db }) => {
      if (!(await hasReleasesLeft(db))) return { again: false };
      const { handled, laneNos } = await inTerm((tx) => workOffReleases(tx, { limit: BATCH }));
      notifyWork(db, laneNos);
      notifyChanges(db, laneNos);
      return { again: handled > 0 };
    },
  },
  {
    name: "repair blocked jobs",
    everyMs: SECOND,
    turn: sweepTurn(),
  },
  {
    name: "process events",
    everyMs: 250,
    turn: eventsTurn(),
  },
  {
    name: "watch folders",
    everyMs: 2 * SECOND,
    turn: watchFolders(),
  },
  {
    name: "run bulk actions",
    everyMs: SECOND,
    turn: bulkTurn(),
  },
  {
    name: "fold figures",
    everyMs: SECOND,
    turn: async ({ inTerm }) => ({ again: (await inTerm(foldStatDeltas)) > 0 }),
  },
  {
    name: "make partitions",
    everyMs: HOUR,
    beforeOthers: true,
    turn: partitionsTurn,
  },
  {
    name: "prune expired rows",
    everyMs: HOUR,
    turn: async ({ inTerm }) => ({ again: (await inTerm(deleteExpired)) >= BATCH }),
  },
  {
    // Not in the leader's transaction, because deleting chunks may take longer than a heartbeat may wait.
    name: "delete stray artifacts",
    everyMs: 600 * SECOND,
    turn: async ({ db }) => ({ again: (await deleteStrayArtifacts(db, STRAYS_BATCH)) >= STRAYS_BATCH }),
  },
  {
    name: "prune dead workers",
    everyMs: HOUR,
    turn: async ({ inTerm }) => {
      await inTerm(pruneSchedulers);
      return { again: (await inTerm(pruneWorkers)) > 0 };
    },
  },
  {
    name: "check for old snapshots",
    everyMs: 60 * SECOND,
    turn: snapshots.turn,
  },
  {
    name: "compare time-zone data",
    everyMs: 30 * SECOND,
    turn: tzTurn(),
  },
];

/**
 * Creates partitions. Not in the leader's transaction, because moving rows that belong in a missing daily partition
 * takes longer than a heartbeat may wait; two processes may do so at once.
 * @throws Error if partitions could not be made, so that the loop tries again within half a minute
 */
async function partitionsTurn({ db, log }: TurnContext): Promise<{ again: boolean }> {
  const { made, moved, failed } = await makeDays(db);
  if (made > 0) log.info({ made, moved }, "partitions made");
  if (failed.length > 0) log.error({ failed: failed.slice(0, 10) }, "partitions could not be made");
  const problem = await partitionProblem(db);
  if (problem) log.error({ problem }, "partitions need attention");
  if (failed.length > 0) throw new Error(`${failed.length} partitions could not be made`);
  return { again: false };
}

/** Warns once per change when live workers and schedulers have different versions of the time-zone data. */
export function tzTurn(): Loop["turn"] {
  let known = "";
  return async ({ db, log }) => {
    const uses = await listTzVersions(db);
    const versions = uses.map(({ tz_version: tzVersion }) => tzVersion ?? "unknown");
    if (versions.length > 1 && versions.join() !== known)
      log.warn({ versions: uses }, "processes have different time-zone data");
    known = versions.join();
    return { again: false };
  };
}

/**
 * Fires due schedules. Reads when the next one is due before it opens a transaction, because usually none is due.
 *
 * While batches are full, two run in parallel, then the next two; a heartbeat that waits for the leader's row gets its
 * turn in between. Each of the two keeps its own position among the tenants, because it skips tenants whose triggers
 * the other has locked.
 */
export function fireTurn({ limit = SCHEDULES_BATCH } = {}): Loop["turn"] {
  let atOnce = 1;
  const afters: (string | undefined)[] = [];
  return async ({ inTerm, db, log }) => {
    const inMs = await msToNextSchedule(db);
    if (inMs === null || inMs > 0) return { again: false, inMs };
    const fire = async (no: number) => {
      const fired = await inTerm((tx) => fireDueSchedules(tx, { limit, after: afters[no] }));
      afters[no] = fired.after;
      return fired;
    };
    const ends = await Promise.allSettled(Array.from({ length: atOnce }, (_, no) => fire(no)));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed) throw failed.reason;
    const fired = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    const triggers = fired.reduce((sum, one) => sum + one.triggers, 0);
    atOnce = triggers >= limit ? 2 : 1;
    for (const { tenantId, triggerId, reason } of fired.flatMap(({ broken }) => broken).slice(0, 20))
      log.error({ tenant_id: tenantId, trigger_id: triggerId, reason }, "a trigger is broken");
    // Repeat soon, even if nothing was found: another transaction may have locked the due schedules.
    return atOnce > 1 ? { again: true } : { again: false, inMs: GATHER_MS };
  };
}

/**
 * Matches pending events with triggers, tenant by tenant, so that a tenant with many events does not delay the others.
 * Each turn takes the next group of tenants, so every tenant gets its turn.
 */
export function eventsTurn({ tenants: most = 50 } = {}): Loop["turn"] {
  let after: string | undefined;
  return async ({ db, web, log, eventMaxDepth }) => {
    const tenants = await tenantsWithPendingEvents(db, { after, limit: most });
    after = tenants.length < most ? undefined : tenants.at(-1);
    let done = 0;
    for (const tenantId of tenants) {
      const turn = await fanOutPending(
        web,
        tenantId,
        eventMaxDepth === undefined ? {} : { maxDepth: eventMaxDepth },
      ).catch((error: unknown) => {
        if (!(error instanceof DatabaseError) || error.kind !== "timeout" || error.connectionLost) {
          // The next turn begins after this tenant, whatever its events do.
          after = tenantId;
          throw error;
        }
        log.warn({ tenant_id: tenantId, err: error }, "a tenant's events took too long, continuing later");
        return { done: 0, failed: [] };
      });
      done += turn.done;
      for (const { eventId, error } of turn.failed)
        log.error({ event_id: eventId, tenant_id: tenantId, err: error }, "an event cannot be processed");
    }
    return { again: done > 0 || after !== undefined };
  };
}

/**
 * Checks blocked jobs in batches, one per turn. A batch that fails is made smaller, until the failing job is alone and
 * is skipped.
 */
export function sweepTurn(): Loop["turn"] {
  let after: string | undefined;
  let limit = BATCH;
  return async ({ inTerm, db, log }) => {
    try {
      const { last, healed, laneNos } = await inTerm((tx) => sweepDependents(tx, { after, limit }));
      after = last;
      limit = BATCH;
      if (healed > 0) log.error({ healed }, "released jobs that a fault left blocked");
      notifyWork(db, laneNos);
      notifyChanges(db, laneNos);
      return { again: healed > 0 };
    } catch (error) {
      if (limit === 1) after = await passOverBlocked(db, after);
      limit = limit === 1 ? BATCH : Math.ceil(limit / 10);
      throw error;
    }
  };
}
