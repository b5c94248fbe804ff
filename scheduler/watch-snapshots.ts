import { listSnapshotHolders, type SnapshotHolder, seesAllSessions } from "@/lib/queue/scheduler";
import type { Loop } from "./run-loops";

const OLD_SECONDS = 300;
const AGAIN_MS = 3_600_000;

export interface SnapshotWatch {
  readonly turn: Loop["turn"];
  /** Findings of the last turn, for operators. */
  readonly notices: () => readonly string[];
}

/**
 * Looks for holders of snapshots older than `oldSeconds`, which keep dead rows from being vacuumed. Warns once per
 * holder, and again after an hour.
 */
export function watchSnapshots({ oldSeconds = OLD_SECONDS } = {}): SnapshotWatch {
  const warnedAt = new Map<string, number>();
  /** When a replication slot was first seen with its current horizon, because the server does not report its age. */
  const slotSince = new Map<string, number>();
  let blindLogged = false;
  let notices: readonly string[] = [];

  /** Returns the seconds for which a holder has had its snapshot. */
  const secondsOf = (holder: SnapshotHolder, now: number): number => {
    if (holder.seconds !== null) return holder.seconds;
    const key = keyOf(holder);
    slotSince.set(key, slotSince.get(key) ?? now);
    return (now - (slotSince.get(key) ?? now)) / 1000;
  };

  return {
    notices: () => notices,
    turn: async ({ db, log }) => {
      const now = performance.now();
      if (!(blindLogged || (await seesAllSessions(db)))) {
        blindLogged = true;
        log.warn("old snapshots of other roles cannot be seen: grant pg_read_all_stats to leasehold_owner");
      }
      const holders = await listSnapshotHolders(db, oldSeconds);
      const old = holders
        .map((holder) => ({ holder, seconds: Math.round(secondsOf(holder, now)) }))
        .filter(({ seconds }) => seconds >= oldSeconds);
      forgetOthers(slotSince, holders);
      forgetOthers(
        warnedAt,
        old.map(({ holder }) => holder),
      );
      for (const { holder, seconds } of old) {
        if (now - (warnedAt.get(keyOf(holder)) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) continue;
        warnedAt.set(keyOf(holder), now);
        const { kind, id, name, role, state, xminAge } = holder;
        log.warn(
          { kind, id, application_name: name, role, state, seconds, xmin_age: xminAge },
          "an old snapshot keeps dead rows from being vacuumed",
        );
      }
      notices = old.map(
        ({ holder: { kind, id, name }, seconds }) =>
          `${kind} ${id}${name ? ` (${name})` : ""} has held a snapshot for ${Math.floor(seconds / 60)} minutes.`,
      );
      return { again: false };
    },
  };
}

const keyOf = ({ kind, id, horizon, seconds }: SnapshotHolder): string =>
  seconds === null ? `${kind} ${id} ${horizon}` : `${kind} ${id}`;

function forgetOthers(known: Map<string, number>, present: readonly SnapshotHolder[]): void {
  const keys = new Set(present.map(keyOf));
  for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
}

/** This process's watch. */
export const snapshots = watchSnapshots();
