import { statement, tenantIs } from "@/lib/db";

const DUE = "case when $4::timestamptz is null then l.scheduled_for else greatest($4::timestamptz, j.queued_at) end";
const CHOSEN = `${tenantIs("l.tenant_id")} and l.job_id = any ($2::uuid[])`;

/** Locks the live rows of jobs in the order of their ids, so that two callers with the same jobs cannot deadlock. */
export const lockLiveJobsSql = statement(
  "lock_live_jobs",
  `select l.job_id, l.state as status, l.lane_no, l.expires_at
   from app.live_jobs l where ${CHOSEN} order by l.job_id for update`,
);

/** Takes queued jobs out of their lanes. Only state and ready change, so each job keeps its position. */
export const pauseJobsSql = statement(
  "pause_jobs",
  `update app.live_jobs l set state = 'paused', ready = false where ${CHOSEN} and l.state = 'queued'
   returning l.job_id, l.lane_no, false as ready, l.state as status`,
);

/** Puts paused jobs back at their old position. The sort key is unchanged, so the time that they waited counts. */
export const resumeJobsSql = statement(
  "resume_jobs",
  `update app.live_jobs l set state = 'queued', ready = l.scheduled_for <= app.now() where ${CHOSEN} and l.state = 'paused'
   returning l.job_id, l.lane_no, l.ready, l.state as status`,
);

/** Creates the lanes that jobs will have with priority $3. Existing lanes are left alone. */
export const ensureLanesSql = statement(
  "ensure_lanes",
  `insert into app.lanes (tenant_id, queue_id, definition_id, band)
   select distinct o.tenant_id, o.queue_id, o.definition_id, app.band_of($3)
   from app.live_jobs l join app.lanes o on o.lane_no = l.lane_no
   where ${CHOSEN} and not exists (select 1 from app.lanes t where t.tenant_id = o.tenant_id and t.queue_id = o.queue_id
     and t.definition_id = o.definition_id and t.band = app.band_of($3))
   on conflict do nothing`,
);

/**
 * Gives waiting jobs another priority ($3) or time ($4), null = unchanged. The live row and the record change together.
 * A time before a job was enqueued counts as the time of the enqueue, so no caller gains a position by claiming to have
 * waited. The lanes must exist (`ensureLanesSql`). `old_lane_no` is the job's previous lane. `unchanged` is true for a
 * job that already had this priority and time, to the millisecond that callers see.
 */
export const changeJobsSql = statement(
  "change_jobs",
  `with changed as (
     update app.live_jobs l set priority = coalesce($3::int, l.priority), lane_no = t.lane_no,
       scheduled_for = ${DUE},
       sort_key = app.sort_key_of(${DUE}, coalesce($3::int, l.priority)),
       ready = l.state = 'queued' and ${DUE} <= app.now()
     from app.live_jobs b, app.jobs j, app.lanes o, app.lanes t
     where ${CHOSEN} and b.job_id = l.job_id and l.state in ('queued', 'paused') and j.id = l.job_id and j.tenant_id = l.tenant_id
       and o.lane_no = l.lane_no and t.tenant_id = o.tenant_id and t.queue_id = o.queue_id
       and t.definition_id = o.definition_id and t.band = app.band_of(coalesce($3::int, l.priority))
     returning l.job_id, l.tenant_id, l.lane_no, l.ready, l.state, l.priority, l.scheduled_for, o.lane_no as old_lane_no,
       b.priority = l.priority
         and date_trunc('milliseconds', b.scheduled_for) = date_trunc('milliseconds', l.scheduled_for) as unchanged
   ), record as (
     update app.jobs j set priority = c.priority, lane_no = c.lane_no,
       scheduled_for = case when $4::timestamptz is null then j.scheduled_for else c.scheduled_for end
     from changed c where j.id = c.job_id and j.tenant_id = c.tenant_id
   )
   select job_id, lane_no, ready, state as status, old_lane_no, unchanged from changed`,
);

/** Reads the statuses of jobs: the state of the live row, or the outcome of the last run. An unknown job has no row. */
export const statusesSql = statement(
  "statuses",
  `select l.job_id, l.state as status, l.lane_no from app.live_jobs l where ${CHOSEN}
   union all
   select a.job_id, a.outcome, null from app.job_attempts a
   where ${tenantIs("a.tenant_id")} and a.job_id = any ($2::uuid[]) and a.outcome is not null and not a.superseded`,
);

/** Records one action on many jobs. */
export const auditJobsSql = statement(
  "audit_jobs",
  `insert into app.job_audit (tenant_id, job_id, actor_kind, actor_id, action, request_id, reason, from_status, to_status)
   select $1, x.job_id, $3, $4, $5, $6, $7, x.from_status, x.to_status
   from unnest($2::uuid[], $8::text[], $9::text[]) as x (job_id, from_status, to_status)`,
);
