/** The columns of a claimed job. There are few, because each column returned costs throughput. */

/** Columns of a live row `r`. */
export const LIVE_COLUMNS = `r.job_id, r.lease_no, r.tenant_id, r.lane_no, r.priority, r.run_no, r.attempts_spent, r.timeouts,
  r.snoozes, r.reclaims, r.claimed_at, r.sort_key, r.attempt_started_at is not null as started,
  r.claim_no, r.expires_at`;

/** Reads the record of a job as `j`. OFFSET 0 keeps the planner from reversing the join. */
export const recordOf = (jobId: string): string => `cross join lateral (
     select definition_id, definition_version, payload, max_attempts, timeout_seconds, retry_delay_seconds,
       retry_multiplier, correlation_id, chain_depth
     from app.jobs where id = ${jobId} offset 0) j`;

/** Select list of a claimed job. Rare columns are packed into one jsonb value, which is NULL for most jobs. */
export const claimedColumns = (
  live: string,
  record: string,
): string => `${live}.job_id, ${live}.lease_no, ${live}.tenant_id,
  ${live}.lane_no, ${live}.priority, ${live}.claimed_at, ${live}.sort_key, ${live}.claim_no,
  ${record}.definition_id, ${record}.definition_version, ${record}.max_attempts, ${record}.correlation_id,
  case when ${live}.run_no > 1 or ${live}.attempts_spent > 0 or ${live}.timeouts > 0 or ${live}.snoozes > 0
      or ${live}.reclaims > 0 or ${record}.chain_depth > 0
      or num_nonnulls(${live}.expires_at, ${record}.timeout_seconds, ${record}.retry_delay_seconds, ${record}.retry_multiplier) > 0
    then jsonb_build_object('run_no', ${live}.run_no, 'attempts_spent', ${live}.attempts_spent,
      'timeouts', ${live}.timeouts, 'snoozes', ${live}.snoozes, 'reclaims', ${live}.reclaims,
      'chain_depth', ${record}.chain_depth,
      'expires_in_ms', extract(epoch from ${live}.expires_at - ${live}.claimed_at) * 1000,
      'timeout_seconds', ${record}.timeout_seconds, 'retry_delay_seconds', ${record}.retry_delay_seconds,
      'retry_multiplier', ${record}.retry_multiplier) end as unusual`;
