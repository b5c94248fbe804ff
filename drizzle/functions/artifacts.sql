-- Uploads of artifacts: begin, append chunks, finish. The attempt (p_job, p_lease) must hold its lease, which
-- app.lock_lease checks. The row lock on app.artifact_usage makes the quotas exact under concurrent writers. Start with
-- app.begin_artifact.

-- Locks the live row of an attempt that holds its lease, and returns the tenant of its job; null if the lease was lost.
-- The lock is FOR KEY SHARE. The end of a lease takes FOR UPDATE or DELETE, which wait for that lock or skip the row. A
-- renewal takes FOR NO KEY UPDATE, which does not wait, so a lease is renewed even while its upload waits for another
-- upload of the tenant or for the disk.
create or replace function app.lock_lease(p_job uuid, p_lease bigint)
returns uuid
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_tenant uuid;
begin
  select l.tenant_id
  into v_tenant
  from app.live_jobs l
  where l.job_id = p_job
    and l.lease_no = p_lease
    and l.state = 'running'
  for key share;
  return v_tenant;
end
$$;
revoke all on function app.lock_lease(uuid, bigint) from public;
grant execute on function app.lock_lease(uuid, bigint) to leasehold_worker;

-- Locks an artifact that this attempt began, and returns it; a row of nulls if there is none.
create or replace function app.lock_artifact(p_tenant uuid, p_job uuid, p_lease bigint, p_id uuid)
returns app.artifacts
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_artifact app.artifacts;
begin
  select a.*
  into v_artifact
  from app.artifacts a
  where a.tenant_id = p_tenant
    and a.id = p_id
    and a.job_id = p_job
    and a.attempt_no = p_lease
  for update;
  return v_artifact;
end
$$;
revoke all on function app.lock_artifact(uuid, uuid, bigint, uuid) from public;
grant execute on function app.lock_artifact(uuid, uuid, bigint, uuid) to leasehold_worker;

-- Begins an artifact. Deletes unfinished artifacts of the same name and of earlier attempts, which can never be
-- finished. So a retry has the whole quota of its job, even if it writes several artifacts at once or follows a worker
-- that died. status is started, lease-lost or too-many (the job has p_most artifacts of other names).
create or replace function app.begin_artifact(
  p_job uuid,
  p_lease bigint,
  p_name text,
  p_type text,
  p_most integer
)
returns table (status text, artifact uuid)
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_tenant uuid := app.lock_lease(p_job, p_lease);
  v_id uuid;
begin
  if v_tenant is null then
    return query select 'lease-lost', null::uuid;
    return;
  end if;
  delete from app.artifacts a
  where a.job_id = p_job
    and a.completed_at is null
    and (a.name = p_name or a.attempt_no <> p_lease);
  insert into app.artifact_usage (tenant_id)
  values (v_tenant)
  on conflict do nothing;
  perform 1
  from app.artifact_usage u
  where u.tenant_id = v_tenant
  for update;
  -- A statement after the lock, so that it sees what others began before. A name that is being replaced counts once.
  if (
    select count(distinct a.name)
    from app.artifacts a
    where a.job_id = p_job
      and a.name <> p_name
  ) >= p_most then
    return query select 'too-many', null::uuid;
    return;
  end if;
  insert into app.artifacts (tenant_id, job_id, run_no, attempt_no, name, content_type)
  select v_tenant, p_job, l.run_no, p_lease, p_name, p_type
  from app.live_jobs l
  where l.job_id = p_job
  returning id into v_id;
  return query select 'started', v_id;
end
$$;
revoke all on function app.begin_artifact(uuid, bigint, text, text, integer) from public;
grant execute on function app.begin_artifact(uuid, bigint, text, text, integer) to leasehold_worker;

-- Appends chunk p_no. A chunk that is sent again after an unknown answer changes nothing. Returns stored, lease-lost,
-- gone (the artifact was deleted or begun again), job-full or tenant-full. p_job_bytes and p_tenant_bytes are the
-- quotas. An earlier artifact of the same name does not count towards the job's quota, because this one will replace
-- it. If an artifact of another name is being replaced, the larger of its two versions counts, because either may be
-- kept.
create or replace function app.append_artifact(
  p_job uuid,
  p_lease bigint,
  p_id uuid,
  p_no integer,
  p_bytes bytea,
  p_job_bytes bigint,
  p_tenant_bytes bigint
)
returns text
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_tenant uuid := app.lock_lease(p_job, p_lease);
  v_artifact app.artifacts;
  v_size bigint := octet_length(p_bytes);
  v_used bigint;
begin
  if v_tenant is null then
    return 'lease-lost';
  end if;
  v_artifact := app.lock_artifact(v_tenant, p_job, p_lease, p_id);
  if v_artifact.id is null or v_artifact.completed_at is not null or v_artifact.chunks < p_no then
    return 'gone';
  end if;
  if v_artifact.chunks > p_no then
    return 'stored';
  end if;
  select u.bytes
  into v_used
  from app.artifact_usage u
  where u.tenant_id = v_tenant
  for update;
  if v_used + v_size > p_tenant_bytes then
    return 'tenant-full';
  end if;
  -- A statement after the lock, so that it sees what other writers of the job stored before.
  if (
    select coalesce(sum(n.bytes), 0)
    from (
      select max(a.size) as bytes
      from app.artifacts a
      where a.job_id = p_job
        and (a.id = p_id or a.name <> v_artifact.name)
      group by a.name
    ) n
  ) + v_size > p_job_bytes then
    return 'job-full';
  end if;
  insert into app.artifact_chunks (tenant_id, artifact_id, no, bytes)
  values (v_tenant, p_id, p_no, p_bytes);
  update app.artifacts a
  set size = a.size + v_size, chunks = a.chunks + 1
  where a.tenant_id = v_tenant
    and a.id = p_id;
  update app.artifact_usage u
  set bytes = u.bytes + v_size
  where u.tenant_id = v_tenant;
  return 'stored';
end
$$;
revoke all on function app.append_artifact(uuid, bigint, uuid, integer, bytea, bigint, bigint) from public;
grant execute on function app.append_artifact(uuid, bigint, uuid, integer, bytea, bigint, bigint) to leasehold_worker;

-- Makes an artifact of p_size bytes visible to its tenant, and deletes the job's earlier one of the same name. Safe to
-- repeat. Returns stored, lease-lost or gone.
create or replace function app.finish_artifact(
  p_job uuid,
  p_lease bigint,
  p_id uuid,
  p_size bigint,
  p_sha256 bytea
)
returns text
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_tenant uuid := app.lock_lease(p_job, p_lease);
  v_artifact app.artifacts;
begin
  if v_tenant is null then
    return 'lease-lost';
  end if;
  v_artifact := app.lock_artifact(v_tenant, p_job, p_lease, p_id);
  if v_artifact.id is null or v_artifact.size <> p_size then
    return 'gone';
  end if;
  if v_artifact.sha256 is not null then
    return case when v_artifact.sha256 = p_sha256 then 'stored' else 'gone' end;
  end if;
  delete from app.artifacts a
  where a.tenant_id = v_tenant
    and a.job_id = p_job
    and a.name = v_artifact.name
    and a.completed_at is not null;
  update app.artifacts a
  set sha256 = p_sha256, completed_at = app.now()
  where a.tenant_id = v_tenant
    and a.id = p_id;
  return 'stored';
end
$$;
revoke all on function app.finish_artifact(uuid, bigint, uuid, bigint, bytea) from public;
grant execute on function app.finish_artifact(uuid, bigint, uuid, bigint, bytea) to leasehold_worker;
