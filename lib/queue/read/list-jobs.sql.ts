import { type Statement, statement, tenantIs } from "@/lib/db";

/**
 * The shape of a list query, which selects ids of a filtered page, newest first.
 * Each status is read from an index in id order (live rows by state, unhappy ends by outcome), each branch stops at the
 * limit, and the branches are merged. So a page costs the same at any depth of history. The most selective filter with
 * an index is written as a plain condition, because a prepared statement cannot use an index through "is null or".
 * All texts here are constants: a request only decides which of these statements runs.
 *
 * $1 tenant · $2 ids before · $3 ids from · $4 limit · $5 offset · $6 definition ids · $7 correlation id · $8 parent ·
 * $9 sources · $10 queue · $11 tag · $12 job id · $13 live states · $14 scan budget · $15 retried job
 */
export interface ListShape {
  /** The branches to read; "all" = no status filter. */
  readonly branches: "all" | readonly Branch[];
  /** The filter that is looked up in its index. */
  readonly driver: Driver;
  /** True if a filter without an index is set. Then only the newest rows within the budget are read. */
  readonly scans: boolean;
}

export const BRANCHES = ["waiting", "running", "succeeded", "failed", "dead_letter", "canceled", "expired"] as const;
export type Branch = (typeof BRANCHES)[number];
export type Driver = "none" | "id" | "retried" | "parent" | "correlation" | "definition" | "definitions";

const DRIVERS: Readonly<Record<Driver, string>> = {
  none: "",
  id: "and j.id = $12::uuid",
  retried: "and j.retried_from_id = $15::uuid",
  parent: "and j.parent_job_id = $8::uuid",
  correlation: "and j.correlation_id = $7::text",
  definition: "and j.definition_id = ($6::uuid[])[1]",
  definitions: "and j.definition_id = any ($6::uuid[])",
};

const OTHERS = `and ($6::uuid[] is null or j.definition_id = any ($6)) and ($7::text is null or j.correlation_id = $7)
    and ($8::uuid is null or j.parent_job_id = $8) and ($12::uuid is null or j.id = $12)
    and ($15::uuid is null or j.retried_from_id = $15)`;

const SCANNING = `and ($9::text[] is null or j.source = any ($9))
    and ($10::text is null or exists (select 1 from app.lanes n join app.job_queues q on q.id = n.queue_id
      where n.lane_no = j.lane_no and q.name = $10))
    and ($11::text is null or $11 = any (j.tags))`;

interface Source {
  /** True if the jobs are a window that is read one by one. */
  readonly isWindow: boolean;
  /** The jobs that are read. */
  readonly jobs: string;
  /** Conditions on the jobs, without tenant and bounds; empty if every job of the tenant matches. */
  readonly conditions: string;
}

const BOUNDS = "j.id < $2::uuid and j.id >= $3::uuid";
const TAKE = "limit $4::int + $5::int";

function sourceOf({ driver, scans }: ListShape): Source {
  const indexed = driver === "none" ? "" : `${DRIVERS[driver]} ${OTHERS}`;
  if (!scans) return { isWindow: false, jobs: "app.jobs j", conditions: indexed };
  // The tenant's newest rows, bounded, for filters without an index.
  const newest = `(select * from app.jobs where ${tenantIs("tenant_id")} and id < $2::uuid and id >= $3::uuid
      order by id desc limit $14::int) j`;
  return { isWindow: true, jobs: newest, conditions: `${indexed} ${SCANNING}` };
}

const allJobs = ({ jobs, conditions }: Source): string =>
  `(select j.id from ${jobs} where ${tenantIs("j.tenant_id")} and ${BOUNDS} ${conditions} order by j.id desc ${TAKE})`;

/**
 * A branch that is driven by another table joins the jobs only if a filter needs them. A window of jobs is walked
 * instead. OFFSET 0 enforces that, because with the statistics of empty tables the planner would walk the window once
 * per row of the other table.
 */
function drivenBranch(table: string, condition: string, { isWindow, jobs, conditions }: Source): string {
  if (isWindow) {
    return `(select j.id from ${jobs} cross join lateral (select 1 from ${table} x
      where x.job_id = j.id and ${tenantIs("x.tenant_id")} and ${condition} offset 0) found
      where ${tenantIs("j.tenant_id")} ${conditions} order by j.id desc ${TAKE})`;
  }
  const join = conditions === "" ? "" : `join ${jobs} on j.id = x.job_id and ${tenantIs("j.tenant_id")} ${conditions}`;
  return `(select x.job_id as id from ${table} x ${join} where ${tenantIs("x.tenant_id")} and ${condition}
    and x.job_id < $2::uuid and x.job_id >= $3::uuid order by x.job_id desc ${TAKE})`;
}

/** Most jobs succeed, so walking the jobs themselves finds a page quickly. */
const succeeded = (source: Source): string =>
  allJobs({
    ...source,
    conditions: `${source.conditions} and exists (
      select 1 from app.job_attempts a where a.job_id = j.id and a.outcome = 'succeeded' and not a.superseded)`,
  });

/**
 * Walks live rows in id order and looks up the job of each, because live rows are few. OFFSET 0 enforces that,
 * whatever the planner assumes about tables without statistics. A lane has one definition, so jobs of other
 * definitions need not be read.
 */
function liveBranch(condition: string, source: Source): string {
  const { isWindow, jobs, conditions } = source;
  if (isWindow || conditions === "") return drivenBranch("app.live_jobs", condition, source);
  return `(select x.job_id as id from app.live_jobs x cross join lateral (
      select 1 from ${jobs} where j.id = x.job_id and ${tenantIs("j.tenant_id")} ${conditions} offset 0) asked
    where ${tenantIs("x.tenant_id")} and ${condition} and x.job_id < $2::uuid and x.job_id >= $3::uuid
      and ($6::uuid[] is null or x.lane_no = any (array(
        select n.lane_no from app.lanes n where ${tenantIs("n.tenant_id")} and n.definition_id = any ($6))))
    order by x.job_id desc ${TAKE})`;
}

function branchText(branch: Branch, source: Source): string {
  switch (branch) {
    case "waiting":
      return liveBranch("x.state <> 'running' and x.state = any ($13::text[])", source);
    case "running":
      return liveBranch("x.state = 'running'", source);
    case "succeeded":
      return succeeded(source);
    default:
      return drivenBranch(
        "app.job_attempts",
        `x.outcome = '${branch}' and x.outcome in ('failed', 'dead_letter', 'canceled', 'expired') and not x.superseded`,
        source,
      );
  }
}

/** Declares the type of every parameter, because not every statement uses all of them. */
const TYPES = `with used as (select $1::uuid, $2::uuid, $3::uuid, $4::int, $5::int, $6::uuid[], $7::text, $8::uuid,
  $9::text[], $10::text, $11::text, $12::uuid, $13::text[], $14::int, $15::uuid)`;

const cache = new Map<string, Statement>();

/** Returns the statement for a shape of filter; `count` counts up to the limit instead of returning ids. */
export function listJobsSql(shape: ListShape, kind: "ids" | "count"): Statement {
  const branches = shape.branches === "all" ? "all" : BRANCHES.filter((branch) => shape.branches.includes(branch));
  const key = `${kind}:${String(branches)}:${shape.driver}:${shape.scans}`;
  const known = cache.get(key);
  if (known) return known;
  const source = sourceOf(shape);
  const found = branches === "all" ? allJobs(source) : branches.map((b) => branchText(b, source)).join(" union all ");
  const page = `select id from (${found}) found order by id desc limit $4::int offset $5::int`;
  const text = kind === "ids" ? `${TYPES} ${page}` : `${TYPES} select count(*)::int as n from (${page}) counted`;
  const made = statement(`list_jobs_${kind}`, text, { repeatable: true });
  cache.set(key, made);
  return made;
}

export const definitionIdsSql = statement(
  "definition_ids",
  "select id from app.job_definitions where ($1::text is null or key = $1) and ($2::text is null or starts_with(key, $2)) limit 1000",
  { repeatable: true },
);

/** The id range of a time range. */
export const idFloorSql = statement(
  "id_floor",
  "select app.id_floor($1::timestamptz) as from_id, app.id_floor($2::timestamptz) as to_id",
  {
    repeatable: true,
  },
);
