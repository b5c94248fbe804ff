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

-- Timeouts of this run: each makes the next time limit longer.
alter table app.live_jobs add column timeouts integer not null default 0 check (timeouts >= 0);
grant update (timeouts) on app.live_jobs to leasehold_worker, leasehold_scheduler;
