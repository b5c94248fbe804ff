-- Which version of the time-zone data each process computes with. NULL: it computes no instants (a remote worker), or its
-- Node has no such data.
alter table app.job_workers add column tz_version text check (char_length(tz_version) <= 20);

-- The schedulers that are alive, leading or standing by, so that the one with the newest time-zone data leads.
create table app.schedulers (
  scheduler_id text primary key check (char_length(scheduler_id) <= 300),
  version text not null default '',
  tz_version text check (char_length(tz_version) <= 20),
  started_at timestamptz not null default app.now(),
  last_seen_at timestamptz not null default app.now()
) with (fillfactor = 50);
grant select, insert, delete on app.schedulers to leasehold_scheduler;
grant update (last_seen_at) on app.schedulers to leasehold_scheduler;
grant select on app.schedulers to leasehold_platform;
