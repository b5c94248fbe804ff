/**
 * The condition that a limit counts the jobs of a lane, but for the tenant. app.limits_on (drizzle/functions/limits.sql)
 * and app.is_limited write the same condition out, and a test compares the claim's copy with them.
 */
export const limitCounts = (limit: string, lane: string): string =>
  `(${limit}.queue_id = ${lane}.queue_id or ${limit}.definition_id = ${lane}.definition_id)`;
