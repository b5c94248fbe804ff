import { statement } from "@/lib/db";
import { notPaused } from "../pauses/pauses.sql";

/** A lane as the claimers know it. `n` is the lane, `q` its queue, `t` its tenant. */
const LANE = `'laneNo', n.lane_no, 'tenantId', n.tenant_id, 'definitionId', n.definition_id, 'queueId', n.queue_id,
       'band', n.band, 'tenantWeight', t.weight, 'queueWeight', q.weight,
       'limited', (select exists (select 1 from app.concurrency_limits))
         and app.is_limited(n.queue_id, n.definition_id, n.tenant_id)`;
const LANE_JOINS = "join app.job_queues q on q.id = n.queue_id join app.tenants t on t.id = n.tenant_id";
const NOT_PAUSED = notPaused("app.is_paused(n.queue_id, n.definition_id, n.tenant_id)");

/** @param readyLanes query for `ready_lanes`: lanes and the least sort key of their ready jobs */
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
 * The poll of an idle worker, once a second: everything it needs to know in one statement.
 * Returns at most `$3` lanes with ready jobs after lane `$2`, found by skipping through the claim index; paused lanes
 * are left out. Also returns the age of the leader heartbeat and the worker's running jobs that are to be canceled.
 * `definitions_version` rises whenever a definition or queue is added or changed.
 * The cost does not depend on the backlog. It grows with the jobs claimed since the oldest snapshot, because their dead
 * index entries are still read.
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
 * Like `pollWorkSql`, but finds only lanes of ready jobs enqueued within the last `$2` seconds, by their ids.
 * An old snapshot does not slow it down, because it reads only the jobs enqueued in that time. OFFSET 0 keeps the
 * planner from using the claim index.
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
