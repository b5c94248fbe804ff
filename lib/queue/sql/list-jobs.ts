import { type Statement, statement, tenantIs } from "@/lib/db";

/**
 * Ids of a filtered page, newest first. Each status is read where an index has it in order (live rows by state, unhappy
 * ends by outcome), each branch stops at the limit, and the branches are merged; so a page costs the same at any depth
 * of history. Every text here is a constant: what a request decides is only which of these statements runs.
 *
 * $1 tenant · $2 before this id (keyset) · $3 ids from · $4 ids before · $5 limit · $6 offset · $7 definition keys' ids
 * · $8 correlation id · $9 parent · $10 sources · $11 queue · $12 tag · $13 job id · $14 live states · $15 scan budget
 */
export interface ListShape {
  /** All: no status filter. Otherwise which branches are wanted. */
  readonly branches: "all" | readonly Branch[];
  /** Whether a filter is set that no index serves; the newest rows within the budget are looked at then. */
  readonly scans: boolean;
}

export const BRANCHES = ["waiting", "running", "succeeded", "failed", "dead_letter", "canceled", "expired"] as const;
export type Branch = (typeof BRANCHES)[number];

const FILTERS = `${tenantIs("j.tenant_id")}
    and ($2::uuid is null or j.id < $2) and ($3::uuid is null or j.id >= $3) and ($4::uuid is null or j.id < $4)
    and ($7::uuid[] is null or j.definition_id = any ($7)) and ($8::text is null or j.correlation_id = $8)
    and ($9::uuid is null or j.parent_job_id = $9) and ($10::text[] is null or j.source = any ($10))
    and ($11::text is null or exists (select 1 from app.lanes n join app.job_queues q on q.id = n.queue_id
      where n.lane_no = j.lane_no and q.name = $11))
    and ($12::text is null or $12 = any (j.tags)) and ($13::uuid is null or j.id = $13)`;

const TAKE = "order by j.id desc limit $5::int + $6::int";

/** The newest rows of the tenant, bounded, for filters that no index serves. */
const SCANNED = `(select * from app.jobs where ${tenantIs("tenant_id")} and ($2::uuid is null or id < $2)
    and ($4::uuid is null or id < $4) order by id desc limit $15::int)`;

const liveBranch = (
  jobs: string,
  state: string,
): string => `(select j.id from app.live_jobs l join ${jobs} j on j.id = l.job_id
    where ${tenantIs("l.tenant_id")} and ${state} and ($2::uuid is null or l.job_id < $2) and ${FILTERS}
    order by l.job_id desc limit $5::int + $6::int)`;

const endedBranch = (
  jobs: string,
  outcome: string,
): string => `(select j.id from app.job_attempts a join ${jobs} j on j.id = a.job_id
    where ${tenantIs("a.tenant_id")} and a.outcome = '${outcome}' and a.outcome in ('failed', 'dead_letter', 'canceled', 'expired')
      and not a.superseded and ($2::uuid is null or a.job_id < $2) and ${FILTERS}
    order by a.job_id desc limit $5::int + $6::int)`;

/** Most jobs succeed, so walking the jobs themselves finds a page of these soon. */
const succeededBranch = (jobs: string): string => `(select j.id from ${jobs} j where ${FILTERS} and exists (
      select 1 from app.job_attempts a where a.job_id = j.id and a.outcome = 'succeeded' and not a.superseded) ${TAKE})`;

function branchText(branch: Branch, jobs: string): string {
  if (branch === "waiting") return liveBranch(jobs, "l.state <> 'running' and l.state = any ($14::text[])");
  if (branch === "running") return liveBranch(jobs, "l.state = 'running'");
  return branch === "succeeded" ? succeededBranch(jobs) : endedBranch(jobs, branch);
}

const cache = new Map<string, Statement>();

/** The statement for a shape of filter; `count` counts up to the limit instead of answering ids. */
export function listJobsSql(shape: ListShape, kind: "ids" | "count"): Statement {
  const branches = shape.branches === "all" ? "all" : BRANCHES.filter((branch) => shape.branches.includes(branch));
  const key = `${kind}:${String(branches)}:${shape.scans}`;
  const known = cache.get(key);
  if (known) return known;
  const jobs = shape.scans ? SCANNED : "app.jobs";
  const union =
    branches === "all"
      ? `select j.id from ${jobs} j where ${FILTERS} ${TAKE}`
      : branches.map((b) => branchText(b, jobs)).join(" union all ");
  const page = `select id from (${union}) found order by id desc limit $5::int offset $6::int`;
  const types = "with used as (select $14::text[], $15::int)";
  const text = kind === "ids" ? `${types} ${page}` : `${types} select count(*)::int as n from (${page}) counted`;
  const made = statement(`list_jobs_${kind}`, text, { repeatable: true });
  cache.set(key, made);
  return made;
}

export const definitionIdsSql = statement(
  "definition_ids",
  "select id from app.job_definitions where ($1::text is null or key = $1) and ($2::text is null or starts_with(key, $2)) limit 1000",
  { repeatable: true },
);

/** Where the scan budget ends for a tenant: the age of the last row that is looked at. */
export const idFloorSql = statement(
  "id_floor",
  "select app.id_floor($1::timestamptz) as from_id, app.id_floor($2::timestamptz) as to_id",
  {
    repeatable: true,
  },
);
