/**
 * The arguments of every advisory lock, as SQL: each use imports its own from here. Locks with one argument are the
 * product's own fixed texts. Locks with a tenant or a request in them have two arguments, class and hash: PostgreSQL
 * keeps them apart from locks with one argument, and the classes from each other. So no text of a client reaches the
 * lock of another use. A collision of two hashes within one class makes a caller wait or try again.
 */
export const ADVISORY_LOCKS = {
  leader: "hashtextextended('leasehold.leader', 0)",
  migration: "hashtextextended('leasehold.migrate', 0)",
  /** As written in drizzle/functions/partitions.sql. */
  partitions: "hashtextextended('leasehold.partitions', 0)",
  /** `$1` is the hash of an idempotent request: tenant, principal, route and key. */
  idempotentRequest: "1, $1::integer",
  /** `$1` is the tenant. */
  triggersOfTenant: "2, hashtext($1::text)",
  /** `$1` is the tenant. */
  bulkActionsOfTenant: "3, hashtext($1::text)",
} as const;
