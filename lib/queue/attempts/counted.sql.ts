/**
 * Returns a CTE that counts the jobs of a statement into the statistics, by tenant and definition.
 * @param rows the CTE with the jobs, which has tenant_id and lane_no
 * @param condition on a row `x` of it; only matching rows are counted
 */
export const counted = (kind: string, rows: string, condition = "true"): string => `counted as (
     insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
     select x.tenant_id, l.definition_id, app.now(), '${kind}', count(*)
     from ${rows} x join app.lanes l on l.lane_no = x.lane_no where ${condition} group by 1, 2
   )`;
