import { statement } from "@/lib/db";

const SELECT = `select p.id, p.scope, q.name as queue, d.key as definition_key, t.slug as tenant, p.reason, p.paused_at,
     p.paused_until, p.paused_by
   from app.pauses p
   left join app.job_queues q on q.id = p.queue_id
   left join app.job_definitions d on d.id = p.definition_id
   left join app.tenants t on t.id = p.tenant_id`;
/** True for a row of app.pauses that prevents claims at this moment; app.is_paused looks for such rows. */
export const HOLDS_NOW = "(paused_until is null or paused_until > app.now())";
/** True for an active pause `p`. A suspension is no pause: it begins and ends with the tenant's status. */
export const IS_PAUSE_NOW = `${HOLDS_NOW} and p.scope <> 'suspension'`;
/** True if anything is paused. PostgreSQL evaluates it once per statement. */
const SOME_PAUSE = `(select exists (select 1 from app.pauses where ${HOLDS_NOW}))`;

/** True if no pause blocks a lane. `isPaused` is the check for the lane; it is evaluated only while a pause exists. */
export const notPaused = (isPaused: string): string => `(not ${SOME_PAUSE} or not ${isPaused})`;

/** The active pauses, newest first. */
export const listPausesSql = statement(
  "list_pauses",
  `${SELECT} where ${IS_PAUSE_NOW} order by p.paused_at desc, p.id desc limit 1000`,
  { repeatable: true },
);

export const pauseByIdSql = statement("pause_by_id", `${SELECT} where p.id = $1`);

/** Pauses a target. A target that is already paused gets the new reason and end. */
export const setPauseSql = statement(
  "set_pause",
  `insert into app.pauses (scope, queue_id, definition_id, tenant_id, reason, paused_until, paused_by)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict on constraint pauses_one_for_each do update set reason = excluded.reason, paused_at = app.now(),
     paused_until = excluded.paused_until, paused_by = excluded.paused_by
   returning id`,
);

/** Deletes a pause that is still active. */
export const endPauseSql = statement(
  "end_pause",
  `delete from app.pauses p where p.id = $1 and ${IS_PAUSE_NOW} returning p.id, p.tenant_id`,
);
