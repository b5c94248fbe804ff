-- Files that a job made, kept in chunks. A row is visible to tenants once it is complete. Not partitioned: few jobs have
-- artifacts, and ids sort by time, so the artifacts of old jobs are one end of artifacts_by_job.
create table app.artifacts (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  id uuid not null default app.new_id(),
  job_id uuid not null,
  run_no integer not null,
  attempt_no bigint not null,
  name text not null check (char_length(name) between 1 and 200),
  content_type text not null check (char_length(content_type) between 1 and 200),
  size bigint not null default 0 check (size >= 0),
  chunks integer not null default 0 check (chunks >= 0),
  sha256 bytea check (octet_length(sha256) = 32),
  created_at timestamptz not null default app.now(),
  completed_at timestamptz,
  primary key (tenant_id, id),
  constraint artifacts_complete_has_hash check ((completed_at is null) = (sha256 is null))
);
create unique index artifacts_name on app.artifacts (tenant_id, job_id, name) where completed_at is not null;
create index artifacts_by_job on app.artifacts (job_id);
create index artifacts_unfinished on app.artifacts (job_id, attempt_no) where completed_at is null;

create table app.artifact_chunks (
  tenant_id uuid not null,
  artifact_id uuid not null,
  no integer not null check (no >= 0),
  bytes bytea not null check (octet_length(bytes) between 1 and 1048576),
  primary key (tenant_id, artifact_id, no),
  foreign key (tenant_id, artifact_id) references app.artifacts (tenant_id, id) on delete cascade
);
-- Not compressed, because a chunk is read and written as a whole and artifacts are often compressed already.
alter table app.artifact_chunks alter column bytes set storage external;

-- Bytes of all artifacts of a tenant, complete or not. Its row lock makes the quotas exact under concurrent writers.
create table app.artifact_usage (
  tenant_id uuid primary key references app.tenants (id) on delete cascade,
  bytes bigint not null default 0 check (bytes >= 0)
);

call app.protect_tenant_table('app.artifacts');
call app.protect_tenant_table('app.artifact_chunks');
call app.protect_tenant_table('app.artifact_usage');
do $$
declare tab text;
begin
  foreach tab in array array['artifacts', 'artifact_chunks', 'artifact_usage'] loop
    execute format('call app.open_to(%L, ''leasehold_worker'')', 'app.' || tab);
  end loop;
end $$;
call app.open_to('app.artifacts', 'leasehold_scheduler');
call app.open_to('app.artifact_usage', 'leasehold_scheduler');
grant select on app.artifacts, app.artifact_chunks, app.artifact_usage to leasehold_web;
grant select, insert on app.artifacts, app.artifact_chunks, app.artifact_usage to leasehold_worker;
grant update (size, chunks, sha256, completed_at), delete on app.artifacts to leasehold_worker;
grant select, delete on app.artifacts to leasehold_scheduler;
-- For the row locks of its sweep: it passes over rows that others hold.
grant update (completed_at) on app.artifacts to leasehold_scheduler;
grant update (bytes) on app.artifact_usage to leasehold_worker, leasehold_scheduler;
grant select on app.artifact_usage to leasehold_scheduler;

-- Gives the bytes of deleted artifacts back to their tenants.
create function app.give_artifact_bytes_back() returns trigger
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    update app.artifact_usage u set bytes = greatest(0, u.bytes - g.bytes)
    from (select tenant_id, sum(size)::bigint as bytes from gone group by tenant_id having sum(size) > 0) g
    where u.tenant_id = g.tenant_id;
    return null;
  end $$;
revoke all on function app.give_artifact_bytes_back() from public;
create trigger give_bytes_back after delete on app.artifacts referencing old table as gone
  for each statement execute function app.give_artifact_bytes_back();

-- Artifacts go with their job. A day of jobs that is dropped as a whole fires no trigger: app.artifacts_without_job finds
-- what it leaves.
create function app.delete_artifacts_of_jobs() returns trigger
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    delete from app.artifacts a using gone g where a.job_id = g.id and a.tenant_id = g.tenant_id;
    return null;
  end $$;
revoke all on function app.delete_artifacts_of_jobs() from public;
create trigger delete_artifacts after delete on app.jobs referencing old table as gone
  for each statement execute function app.delete_artifacts_of_jobs();

-- Starts an artifact of the attempt (p_job, p_lease), which must hold its lease. An unfinished one of the same name is
-- deleted. status: started, lease-lost, too-many (the job has p_most artifacts of other names).
create function app.begin_artifact(p_job uuid, p_lease bigint, p_name text, p_type text, p_most integer)
  returns table (status text, artifact uuid)
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare v_tenant uuid; v_run integer; v_id uuid;
  begin
    select l.tenant_id, l.run_no into v_tenant, v_run from app.live_jobs l
    where l.job_id = p_job and l.lease_no = p_lease and l.state = 'running' for share;
    if not found then return query select 'lease-lost', null::uuid; return; end if;
    delete from app.artifacts a where a.job_id = p_job and a.name = p_name and a.completed_at is null;
    insert into app.artifact_usage (tenant_id) values (v_tenant) on conflict do nothing;
    perform 1 from app.artifact_usage u where u.tenant_id = v_tenant for update;
    -- A later statement than the lock, so that it sees what others have begun before.
    if (select count(*) from app.artifacts a where a.job_id = p_job and a.name <> p_name) >= p_most then
      return query select 'too-many', null::uuid; return;
    end if;
    insert into app.artifacts (tenant_id, job_id, run_no, attempt_no, name, content_type)
    values (v_tenant, p_job, v_run, p_lease, p_name, p_type) returning id into v_id;
    return query select 'started', v_id;
  end $$;
revoke all on function app.begin_artifact(uuid, bigint, text, text, integer) from public;
grant execute on function app.begin_artifact(uuid, bigint, text, text, integer) to leasehold_worker;

-- Appends chunk p_no. Sending a chunk again after an unknown answer changes nothing. Answers stored, lease-lost, gone (the
-- artifact was deleted or begun again), job-full, tenant-full. An earlier artifact of the same name does not count for the
-- job, because this one will replace it.
create function app.append_artifact(p_job uuid, p_lease bigint, p_id uuid, p_no integer, p_bytes bytea,
    p_job_bytes bigint, p_tenant_bytes bigint) returns text
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare v_tenant uuid; v_name text; v_chunks integer; v_size bigint := octet_length(p_bytes); v_used bigint;
  begin
    select l.tenant_id into v_tenant from app.live_jobs l
    where l.job_id = p_job and l.lease_no = p_lease and l.state = 'running' for share;
    if not found then return 'lease-lost'; end if;
    select a.name, a.chunks into v_name, v_chunks from app.artifacts a
    where a.tenant_id = v_tenant and a.id = p_id and a.job_id = p_job and a.attempt_no = p_lease
      and a.completed_at is null for update;
    if not found or v_chunks < p_no then return 'gone'; end if;
    if v_chunks > p_no then return 'stored'; end if;
    select u.bytes into v_used from app.artifact_usage u where u.tenant_id = v_tenant for update;
    if v_used + v_size > p_tenant_bytes then return 'tenant-full'; end if;
    -- A later statement than the lock, so that it sees what other writers of the job have stored before.
    if (select coalesce(sum(a.size), 0) from app.artifacts a
        where a.job_id = p_job and (a.id = p_id or a.name <> v_name)) + v_size > p_job_bytes then
      return 'job-full';
    end if;
    insert into app.artifact_chunks (tenant_id, artifact_id, no, bytes) values (v_tenant, p_id, p_no, p_bytes);
    update app.artifacts a set size = a.size + v_size, chunks = a.chunks + 1 where a.tenant_id = v_tenant and a.id = p_id;
    update app.artifact_usage u set bytes = u.bytes + v_size where u.tenant_id = v_tenant;
    return 'stored';
  end $$;
revoke all on function app.append_artifact(uuid, bigint, uuid, integer, bytea, bigint, bigint) from public;
grant execute on function app.append_artifact(uuid, bigint, uuid, integer, bytea, bigint, bigint) to leasehold_worker;

-- Makes an artifact of p_size bytes visible; the job's earlier one of the same name is deleted. Safe to repeat. Answers
-- stored, lease-lost, gone.
create function app.finish_artifact(p_job uuid, p_lease bigint, p_id uuid, p_size bigint, p_sha256 bytea) returns text
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare v_tenant uuid; v_name text; v_done bytea;
  begin
    select l.tenant_id into v_tenant from app.live_jobs l
    where l.job_id = p_job and l.lease_no = p_lease and l.state = 'running' for share;
    if not found then return 'lease-lost'; end if;
    select a.name, a.sha256 into v_name, v_done from app.artifacts a
    where a.tenant_id = v_tenant and a.id = p_id and a.job_id = p_job and a.attempt_no = p_lease and a.size = p_size
    for update;
    if not found then return 'gone'; end if;
    if v_done is not null then return case when v_done = p_sha256 then 'stored' else 'gone' end; end if;
    delete from app.artifacts a
    where a.tenant_id = v_tenant and a.job_id = p_job and a.name = v_name and a.completed_at is not null;
    update app.artifacts a set sha256 = p_sha256, completed_at = app.now() where a.tenant_id = v_tenant and a.id = p_id;
    return 'stored';
  end $$;
revoke all on function app.finish_artifact(uuid, bigint, uuid, bigint, bytea) from public;
grant execute on function app.finish_artifact(uuid, bigint, uuid, bigint, bytea) to leasehold_worker;
