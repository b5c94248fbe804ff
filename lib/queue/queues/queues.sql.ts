import { statement } from "@/lib/db";

/** The retry settings of a lane's queue. */
export const queueRetrySql = statement(
  "queue_retry",
  `select q.retry_delay_seconds, q.retry_multiplier from app.lanes l join app.job_queues q on q.id = l.queue_id
   where l.lane_no = $1`,
  { repeatable: true },
);
