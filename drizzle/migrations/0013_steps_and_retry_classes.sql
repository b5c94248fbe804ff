-- Stored steps of an attempt, and retry policies by error class.

-- Null = not said here: the queue, the class of the error or the installation decides (lib/queue/policy/retry-policy.ts).
do $$
declare tab text; col text;
begin
  foreach tab in array array['job_definitions', 'job_definition_versions'] loop
    foreach col in array array['retry_strategy', 'retry_delay_seconds', 'retry_multiplier', 'retry_max_delay_seconds',
      'retry_jitter'] loop
      execute format('alter table app.%I alter column %I drop not null, alter column %I drop default', tab, col, col);
    end loop;
    execute format('alter table app.%I add column retry_classes jsonb not null default ''{}''::jsonb
      check (jsonb_typeof(retry_classes) = ''object'')', tab);
  end loop;
end $$;
grant update (retry_classes) on app.job_definitions to leasehold_platform;

-- Of this run: timeouts, each of which makes the next time limit longer, and how often it was put off.
alter table app.live_jobs add column timeouts integer not null default 0 check (timeouts >= 0),
  add column snoozes integer not null default 0 check (snoozes >= 0);
grant update (timeouts, snoozes) on app.live_jobs to leasehold_worker, leasehold_scheduler;

-- What an attempt has done for good, for the later attempts of its run. Not partitioned: few jobs have steps, and ids sort by
-- time, so what is old is the first part of the primary key.
create table app.job_steps (
  job_id uuid not null,
  run_no integer not null,
  name text not null check (char_length(name) between 1 and 200),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  attempt_no bigint not null,
  result jsonb not null,
  created_at timestamptz not null default app.now(),
  primary key (job_id, run_no, name)
);
call app.protect_tenant_table('app.job_steps');
call app.open_to('app.job_steps', 'leasehold_worker');
grant select on app.job_steps to leasehold_web;
grant select, insert on app.job_steps to leasehold_worker;

-- A worker enqueues the jobs that an attempt asked for in the transaction that records its end. (The functions that
-- insert them are opened to it where they are made.)
grant insert on app.lanes, app.jobs, app.live_jobs, app.dedupe_keys to leasehold_worker;
grant update (job_id, held_until) on app.dedupe_keys to leasehold_worker;
