import { statement } from "@/lib/db";

/** The ids of a pause's or limit's target. A name that is given and not found leaves its id null. */
export const targetSql = statement(
  "target_by_name",
  `select (select id from app.job_queues where name = $1) as queue_id,
     (select id from app.job_definitions where key = $2) as definition_id,
     (select id from app.tenants where slug = $3 or id::text = $3) as tenant_id`,
  { repeatable: true },
);
