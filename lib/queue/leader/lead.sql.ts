import { ADVISORY_LOCKS, statement } from "@/lib/db";

export const hasLeaderSql = statement(
  "has_leader",
  "select coalesce(last_seen_at > app.now() - interval '10 seconds', false) as leads from app.leader",
  { repeatable: true },
);

/** Starts the next term. The caller holds the leader lock. */
export const takeTermSql = statement(
  "take_term",
  `update app.leader set term = term + 1, leader_id = $1, acquired_at = app.now(), last_seen_at = app.now()
   returning term::float8 as term`,
);

/** The first statement of each transaction of a leader. No row = another scheduler leads. */
export const keepTermSql = statement(
  "keep_term",
  `select 1 as kept from app.leader where leader_id = $1 and term = $2 for share`,
);

/** The leader heartbeat. While it is recent, workers need not promote and rescue jobs. */
export const beatTermSql = statement(
  "beat_term",
  "update app.leader set last_seen_at = app.now() where leader_id = $1 and term = $2 returning 1 as kept",
);

/**
 * Tries to take the leader lock. The lock belongs to a session, so it is released when the holder's connection ends.
 */
export const tryLeadSql = statement("try_lead", `select pg_try_advisory_lock(${ADVISORY_LOCKS.leader}) as held`);

export const unlockSql = statement("unlock", "select pg_advisory_unlock_all()");

export const pingSql = statement("ping", "select 1");
