-- Partitions: the days of app.jobs, app.job_attempts and app.job_logs. The functions for the scheduler run with the
-- owner's rights, because only the owner can make a partition and no process connects as the owner. A partition has no
-- grant, so it can be read only through its parent and the parent's policies. Start with app.make_days.

-- True if the table has a partition for the day. A table of that name that is not a partition does not count.
create or replace function app.has_day(parent text, day date)
returns boolean
language sql stable
set search_path = pg_catalog, app
as $$
  select exists (
    select
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass('app.' || parent)
      and c.relname = format('%s_%s', parent, to_char(day, 'YYYYMMDD'))
  )
$$;
revoke all on function app.has_day(text, date) from public;

-- Makes one day of one table, and moves its rows out of the DEFAULT partition. Returns the number of moved rows. The
-- caller holds the locks.
create or replace function app.make_day(parent text, day date)
returns bigint
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  part text := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
  key text := case parent when 'jobs' then 'id' else 'job_id' end;
  low uuid := app.id_floor(day::timestamp at time zone 'UTC');
  high uuid := app.id_floor((day + 1)::timestamp at time zone 'UTC');
  moved bigint;
begin
  execute format(
    'create table app.%I (like app.%I including defaults including constraints including storage)',
    part, parent
  );
  execute format(
    'with taken as (delete from app.%I where %I >= %L and %I < %L returning *)
      insert into app.%I select * from taken',
    parent || '_default', key, low, key, high, part
  );
  get diagnostics moved = row_count;
  execute format('alter table app.%I attach partition app.%I for values from (%L) to (%L)', parent, part, low, high);
  return moved;
end
$$;
revoke all on function app.make_day(text, date) from public;

-- Makes the missing days from yesterday to days_ahead, and every day of which a DEFAULT partition holds rows. A day
-- cannot be made while the DEFAULT partition holds rows of it, so the rows are moved into the new day. Rows older than
-- 400 days, or more than 60 days ahead, stay in the DEFAULT partition; app.partition_problems counts them. Returns the
-- number of partitions made, the number of rows moved, and what failed. Each partition is a subtransaction of its own,
-- so one that fails is reported and does not stop the others.
--
-- All locks are requested at once, with a lock_timeout of half a second, because all other work queues behind a lock
-- request that waits. After that time the function raises an error, and the caller tries again later.
create or replace function app.make_days(days_ahead integer default 7)
returns table (made integer, moved bigint, failed text[])
language plpgsql security definer
set search_path = pg_catalog, app
set lock_timeout = '500ms'
as $$
declare
  today date := (clock_timestamp() at time zone 'UTC')::date;
  missing text[];
  one text;
  parent text;
  day date;
  problem text;
begin
  if days_ahead not between 0 and 60 then
    raise exception 'days_ahead must be between 0 and 60';
  end if;
  made := 0;
  moved := 0;
  failed := '{}';
  if not pg_try_advisory_xact_lock(hashtextextended('leasehold.partitions', 0)) then
    -- Another process is making days. This waits without a lock_timeout, because no other work queues behind this lock.
    perform set_config('lock_timeout', '0', true);
    perform pg_advisory_xact_lock(hashtextextended('leasehold.partitions', 0));
    perform set_config('lock_timeout', '500ms', true);
  end if;
  select array_agg(p.parent || ' ' || d.day order by d.day < today, d.day, p.parent)
  into missing
  from (
    select today + i as day from generate_series(-1, days_ahead) i
    union
    select app.day_of_id(id) from app.jobs_default
    union
    select app.day_of_id(job_id) from app.job_attempts_default
    union
    select app.day_of_id(job_id) from app.job_logs_default
  ) d, unnest(array['jobs', 'job_attempts', 'job_logs']) p (parent)
  where d.day between today - 400 and today + 60
    and not app.has_day(p.parent, d.day);
  if missing is null then
    return next;
    return;
  end if;
  lock table only app.jobs, only app.job_attempts, only app.job_logs,
    app.jobs_default, app.job_attempts_default, app.job_logs_default
    in access exclusive mode;
  foreach one in array missing loop
    begin
      parent := split_part(one, ' ', 1);
      day := split_part(one, ' ', 2)::date;
      moved := moved + app.make_day(parent, day);
      made := made + 1;
    exception when others then
      get stacked diagnostics problem = message_text;
      failed := failed || format('%s: %s', one, problem);
    end;
  end loop;
  return next;
end
$$;
revoke all on function app.make_days(integer) from public;
grant execute on function app.make_days(integer) to leasehold_scheduler;

-- Makes days as app.make_days does, and returns how many partitions were made. Raises if partitions failed and none was made.
create or replace function app.ensure_partitions(days_ahead integer default 7)
returns integer
language plpgsql security definer
set search_path = pg_catalog, app
as $$
declare
  result record;
begin
  select * into result from app.make_days(days_ahead);
  if result.made = 0 and cardinality(result.failed) > 0 then
    raise exception 'no partition could be made: %', array_to_string(result.failed, '; ');
  end if;
  return result.made;
end
$$;
revoke all on function app.ensure_partitions(integer) from public;
grant execute on function app.ensure_partitions(integer) to leasehold_scheduler;

-- Returns the number of rows in the DEFAULT partitions, which no role can read. It must be 0.
create or replace function app.default_partition_rows()
returns bigint
language sql security definer
set search_path = pg_catalog, app
as $$
  select
    (select count(*) from app.jobs_default)
    + (select count(*) from app.job_attempts_default)
    + (select count(*) from app.job_logs_default)
$$;
revoke all on function app.default_partition_rows() from public;
grant execute on function app.default_partition_rows() to leasehold_scheduler;

-- Returns the problems of the partitions: missing days of today and tomorrow, and rows that no day covers.
create or replace function app.partition_problems()
returns table (missing_days integer, stray_rows bigint)
language sql stable security definer
set search_path = pg_catalog, app
as $$
  select
    (
      select count(*)::int
      from generate_series(0, 1) i, unnest(array['jobs', 'job_attempts', 'job_logs']) parent
      where not app.has_day(parent, (clock_timestamp() at time zone 'UTC')::date + i)
    ),
    app.default_partition_rows()
$$;
revoke all on function app.partition_problems() from public;
grant execute on function app.partition_problems() to leasehold_scheduler;
