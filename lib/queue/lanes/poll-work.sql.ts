import { statement } from "@/lib/db";
import { notPaused } from "../pauses/pauses.sql";

/** Lanes as claimers know them. `n` is the lane, `q` its queue, `t` its tenant. */
const LANE = `'laneNo', n.lane_no, 'tenantId', n.tenant_id, 'definitionId', n.definition_id, 'queueId', n.queue_id,
       'band', n.band, 'tenantWeight', t.weight, 'queueWeight', q.weight,
       'limited', (select exists (select 1 from app.concurrency_limits))
         and app.is_limited(n.queue_id, n.definition_id, n.tenant_id)`;
const LANE_JOINS = "join app.job_queues q on q.id = n.queue_id join app.tenants t on t.id = n.tenant_id";
const NOT_PAUSED = notPaused("app.is_paused(n.queue_id, n.definition_id, n.tenant_id)");

/** @param readyLanes a query for `ready_lanes`: lanes and the least sort key of their ready jobs */
const polling = (readyLanes: string): string => `with recursive ready_lanes as (
     ${readyLanes}
   )
   select
     (select coalesce(jsonb_agg(jsonb_build_object('head', r.sort_key, ${LANE})), '[]')
      from ready_lanes r join app.lanes n on n.lane_no = r.lane_no ${LANE_JOINS} where ${NOT_PAUSED}) as lanes,
     (select case when count(*) < $3 then 0 else max(lane_no) end from ready_lanes) as next_after_lane,
     (select extract(epoch from app.now() - last_seen_at)::float8 from app.leader) as leader_age_seconds,
     (select coalesce(sum(version), 0)::float8 from app.job_definitions)
       + (select coalesce(sum(version), 0) from app.job_queues) as definitions_version,
     (select coalesce(jsonb_agg(job_id), '[]') from app.live_jobs
      where claimed_by_worker = $1 and cancel_requested_at is not null) as cancel_requested`;

/**
 * Everything an idle worker needs to know, in one statement a second: the next lanes with ready jobs after lane `$2`
 * (at most `$3`, found by skipping through the claim index; paused ones are left out), how old the leader's sign of
 * life is, which of its running jobs are to be canceled, and a number that rises whenever a definition or queue is
 * added or changed. Its cost does not depend on the backlog, but on how many jobs were claimed since the oldest snapshot:
 * their dead index entries are read over.
 */
export const pollWorkSql = statement(
  "poll_work",
  polling(`(select lane_no, sort_key, 1 as n from app.live_jobs where ready and lane_no > $2
      order by lane_no, sort_key limit 1)
     union all
     select x.lane_no, x.sort_key, r.n + 1 from ready_lanes r cross join lateral (
       select lane_no, sort_key from app.live_jobs where ready and lane_no > r.lane_no
       order by lane_no, sort_key limit 1) x
     where r.n < $3`),
  { repeatable: true },
);

/**
 * As `pollWorkSql`, but finds only lanes of ready jobs that were enqueued within the last `$2` seconds, by their ids. No
 * snapshot makes it dearer: it reads what was enqueued in that time. OFFSET 0 keeps the planner from the claim index.
 */
export const pollFreshSql = statement(
  "poll_fresh",
  polling(`select lane_no, min(sort_key) as sort_key, 1 as n from (
       select lane_no, sort_key, ready from app.live_jobs
       where job_id >= app.id_floor(now() - make_interval(secs => $2::int)) offset 0) f
     where ready group by lane_no order by lane_no limit $3`),
  { repeatable: true },
);

export const describeLanesSql = statement(
  "describe_lanes",
  `select coalesce(jsonb_agg(jsonb_build_object(${LANE})), '[]') as lanes
   from app.lanes n ${LANE_JOINS} where n.lane_no = any ($1::int[]) and ${NOT_PAUSED}`,
  { repeatable: true },
);
