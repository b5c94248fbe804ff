/**
 * A rule that must hold in the tables, whatever happened to the processes. Each rule is one query over the tables
 * alone, which returns the rows that break it; it shares no code with the queue. `$1` is the ids of jobs that the API
 * reported as accepted, `$2` the commands that print the number of their attempt and nothing else.
 */
export interface Rule {
  readonly name: string;
  readonly text: string;
}

const OUTCOMES = "select job_id, run_no, attempt_no from app.job_attempts where outcome is not null and not superseded";

/** Every lease of a job: ended leases and active ones. */
const LEASES = `select job_id, tenant_id, run_no, attempt_no as lease_no, claimed_at, started_at, finished_at
    from app.job_attempts where worker_id is not null
  union all
  select job_id, tenant_id, run_no, lease_no, claimed_at, attempt_started_at, 'infinity'::timestamptz
    from app.live_jobs where state = 'running'`;

/**
 * An accepted job is in the tables, and is live or has an outcome. The same is true for every other job in the tables.
 */
const lost: Rule = {
  name: "lost",
  text: `select coalesce(a.id, j.id) as job_id, case when j.id is null then 'accepted, not stored' else 'neither live nor ended' end as detail
    from unnest($1::uuid[]) a (id) full join app.jobs j on j.id = a.id
    where j.id is null or (not exists (select from app.live_jobs l where l.job_id = j.id)
      and not exists (select from (${OUTCOMES}) o where o.job_id = j.id))`,
};

const SIMPLE: readonly Rule[] = [
  {
    name: "ended twice",
    text: `select job_id, 'run ' || run_no || ' has ' || count(*) || ' outcomes' as detail
      from app.job_attempts where outcome is not null group by job_id, run_no having count(*) > 1
      union all
      select job_id, count(*) || ' outcomes stand' from (${OUTCOMES}) o group by job_id having count(*) > 1`,
  },
  {
    name: "live and ended",
    text: `select l.job_id, l.state || ' with an outcome' as detail from app.live_jobs l join (${OUTCOMES}) o using (job_id)`,
  },
  {
    name: "without a record",
    text: `select job_id, 'live' as detail from app.live_jobs l where not exists (select from app.jobs j where j.id = l.job_id)
      union all
      select job_id, 'attempt ' || attempt_no from app.job_attempts a where not exists (select from app.jobs j where j.id = a.job_id)`,
  },
  {
    name: "start inside a live lease",
    text: `select job_id, 'lease ' || lease_no || ' began ' || (before - claimed_at) || ' before lease ' || former || ' ended' as detail
      from (select *, lag(lease_no) over w as former, max(finished_at) over (w rows between unbounded preceding and 1 preceding) as before
            from (${LEASES}) l window w as (partition by job_id order by lease_no)) x
      where before > claimed_at or finished_at < claimed_at or started_at < claimed_at or started_at > finished_at`,
  },
  {
    name: "lease numbers",
    text: `select l.job_id, l.state || ' with lease ' || l.lease_no || ' after attempt ' || a.last as detail
      from app.live_jobs l join (select job_id, max(attempt_no) as last from app.job_attempts group by 1) a using (job_id)
      where l.lease_no < a.last or (l.state = 'running' and l.lease_no = a.last)`,
  },
  {
    name: "too many attempts",
    text: `select a.job_id, 'run ' || a.run_no || ': ' || count(*) || ' of ' || j.max_attempts as detail
      from app.job_attempts a join app.jobs j on j.id = a.job_id
      where a.status in ('succeeded', 'failed', 'timeout') or (a.status = 'worker_lost' and a.started_at is not null)
      group by a.job_id, a.run_no, j.max_attempts having count(*) > j.max_attempts
      union all
      select l.job_id, 'spent ' || l.attempts_spent || ' of ' || j.max_attempts
      from app.live_jobs l join app.jobs j on j.id = l.job_id where l.attempts_spent > j.max_attempts`,
  },
  {
    name: "key of an ended job",
    text: `select d.job_id, 'still taken' as detail from app.dedupe_keys d
      where (d.live or d.held_until is null) and not exists (select from app.live_jobs l where l.job_id = d.job_id)
      union all
      select l.job_id, 'live without its key' from app.live_jobs l
      where l.has_dedupe_key and not exists (select from app.dedupe_keys d where d.job_id = l.job_id and d.live)
      union all
      select min(j.id::text)::uuid, count(*) || ' live jobs with one key' from app.jobs j join app.live_jobs l on l.job_id = j.id
      where j.dedupe_key is not null group by j.tenant_id, j.dedupe_key having count(*) > 1`,
  },
  {
    name: "figures",
    text: `select coalesce(f.definition_id, l.definition_id) as job_id, coalesce(f.n, 0) || ' counted, ' || coalesce(l.n, 0) || ' live' as detail
      from (select tenant_id, definition_id, sum(n) as n from (
              select tenant_id, definition_id, n from app.live_totals
              union all
              select tenant_id, definition_id, case when kind in ('queued', 'retried') then n when kind = 'attempt_failed' then 0 else -n end
              from app.job_stat_deltas) x group by 1, 2) f
      full join (select l.tenant_id, lane.definition_id, count(*) as n from app.live_jobs l
                 join app.lanes lane using (lane_no) group by 1, 2) l using (tenant_id, definition_id)
      where coalesce(f.n, 0) <> coalesce(l.n, 0)`,
  },
];

/**
 * No result is accepted from a worker whose lease has expired. Checked by the output of the attempts: commands of these
 * definitions print the number of their attempt, and nothing else.
 */
const staleSettle: Rule = {
  name: "stale settle accepted",
  text: `select a.job_id, 'attempt ' || a.attempt_no || ' says that it was ' || trim(a.stdout_tail, E' \\n') as detail
    from app.job_attempts a join app.jobs j on j.id = a.job_id join app.job_definitions d on d.id = j.definition_id
    where d.command_key = any ($2::text[]) and trim(coalesce(a.stdout_tail, ''), E' \\n') not in ('', a.attempt_no::text)
    union all
    select g.job_id, 'output of attempt ' || g.attempt_no || ' says ' || trim(g.body, E' \\n')
    from app.job_logs g join app.jobs j on j.id = g.job_id join app.job_definitions d on d.id = j.definition_id
    where d.command_key = any ($2::text[]) and g.stream = 'stdout' and trim(g.body, E' \\n') <> g.attempt_no::text`,
};

/** Each idempotency key stands for at most one job; callers put it into the correlation id. */
const doubled: Rule = {
  name: "accepted twice",
  text: `select min(id::text)::uuid as job_id, count(*) || ' jobs for ' || correlation_id as detail
    from app.jobs where correlation_id like 'once:%' group by correlation_id having count(*) > 1`,
};

/** A blocked job waits for at least one parent that is still live. */
const forgotten: Rule = {
  name: "blocked for ever",
  text: `select l.job_id, 'waits for nothing that is still to come' as detail from app.live_jobs l
    where l.state = 'blocked' and not exists (
      select from app.job_dependencies d join app.live_jobs p on p.job_id = d.parent_id
      where d.child_id = l.job_id and d.state = 'pending')
    and not exists (
      select from app.job_dependencies d join app.release_backlog b on b.parent_id = d.parent_id
      where d.child_id = l.job_id and d.state = 'pending' and l.job_id between b.from_child and b.to_child)`,
};

const notOver: Rule = {
  name: "not over",
  text: "select job_id, state || ', lease ' || lease_no as detail from app.live_jobs",
};

/** @param over true if every job must have ended */
export function rulesFor({ over }: { readonly over: boolean }): readonly Rule[] {
  return [lost, ...SIMPLE, staleSettle, doubled, forgotten, ...(over ? [notOver] : [])];
}
