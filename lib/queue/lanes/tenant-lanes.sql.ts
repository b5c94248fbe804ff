import { statement, tenantIs } from "@/lib/db";

/** Reads the numbers of a tenant's lanes. */
export const tenantLanesSql = statement(
  "tenant_lanes",
  `select lane_no from app.lanes where ${tenantIs("tenant_id")}`,
  { repeatable: true },
);
