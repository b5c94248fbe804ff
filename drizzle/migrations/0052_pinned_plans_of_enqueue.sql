-- The roles of people and of the scheduler plan each execution anew (lib/db/migrate/roles.ts). That would cost an enqueue
-- more than all else that it does, so its functions keep generic plans: index scans by key, whatever the statistics say.
do $$
declare f regprocedure; setting text;
begin
  for f in select p.oid from pg_catalog.pg_proc p
      where p.pronamespace = 'app'::regnamespace and p.proname in ('enqueue_job', 'enqueue_alike', 'enqueue_jobs') loop
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    foreach setting in array array['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin'] loop
      execute format('alter function %s set %I = off', f, setting);
    end loop;
  end loop;
end $$;
