-- One row: facts about the installation that every process compares with its own settings.
create table app.installation (
  only_row boolean primary key default true check (only_row),
  -- Derived from DATA_KEY; tells nothing of it. NULL until the first process stores its own.
  data_key_check bytea check (octet_length(data_key_check) = 32)
);
insert into app.installation default values;
grant select on app.installation to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
grant update (data_key_check) on app.installation to leasehold_worker;
