-- A batch of jobs draws the random part of its ids once, and columns get values of their own domains, which are checked once.

-- As many ids as asked for, which rise: the first is that of app.new_id() with one random bit less, the others count on from
-- its random part, as RFC 9562 (6.2, method 2) has it. The bit that is taken away is room to count.
create function app.new_ids(p_count integer) returns uuid[]
  language plpgsql volatile parallel safe
  as $$
  declare
    v_first text := app.new_id()::text;
    v_head text := pg_catalog.left(v_first, 19);
    v_tail bigint := ('x' || pg_catalog.replace(pg_catalog.right(v_first, 17), '-', ''))::bit(64)::bigint
      & x'DFFFFFFFFFFFFFFF'::bigint;
  begin
    return array(select (v_head || pg_catalog.to_hex(v_tail + n))::uuid
                 from pg_catalog.generate_series(0, p_count - 1) n);
  end $$;
revoke all on function app.new_ids(integer) from public;
grant execute on function app.new_ids(integer) to leasehold_web, leasehold_worker;

-- As before; what is the same in all rows stands in variables of the columns' domains, their defaults too.
create or replace function app.enqueue_alike(p_tenant uuid, p_definition uuid, p_version integer, p_queue text, p_source text,
    p_source_ref text, p_priority integer, p_payloads jsonb, p_tags text[], p_metadata jsonb, p_correlation_id text,
    p_parent_job_id uuid, p_retried_from_id uuid, p_scheduled_for timestamptz, p_expires_at timestamptz,
    p_max_attempts integer, p_timeout_seconds integer, p_retry_delay_seconds double precision,
    p_retry_multiplier double precision, p_created_by uuid,
    out new_ids uuid[], out ready boolean, out lane_no integer, out queued_at timestamptz, out scheduled_for timestamptz,
    out priority integer, out max_attempts integer, out timeout_seconds integer)
  language plpgsql
  as $$
  #variable_conflict use_column
  declare
    v_tenant text := pg_catalog.set_config('app.current_tenant_id', p_tenant::text, true);
    v_now timestamptz := app.now();
    v_due timestamptz := coalesce(p_scheduled_for, v_now);
    v_ready boolean := v_due <= v_now;
    v_count integer := pg_catalog.jsonb_array_length(p_payloads);
    v_ids uuid[] := app.new_ids(v_count);
    v_source app.job_source := p_source;
    v_tags text[] := coalesce(p_tags, '{}');
    v_metadata jsonb := coalesce(p_metadata, '{}');
    v_delay app.retry_delay_seconds := p_retry_delay_seconds;
    v_multiplier app.retry_multiplier := p_retry_multiplier;
    v_depth app.chain_depth := 0; v_run app.run_no := 1; v_lease app.lease_no := 0; v_none app.tally := 0;
    v_percent app.percent; v_message app.progress_message;
    v_queue integer; v_lane integer; v_sort double precision;
    v_priority app.job_priority; v_attempts app.attempts_allowed; v_timeout app.time_limit_seconds;
  begin
    for i in 1 .. 2 loop
      if p_queue is not null then
        select q.id into v_queue from app.job_queues q where q.name = p_queue and q.is_active;
      end if;
      if p_queue is null or v_queue is not null then
        select l.lane_no, coalesce(p_priority, q.default_priority), coalesce(p_max_attempts, d.max_attempts, q.max_attempts, 3),
            case when p_timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else p_timeout_seconds end
          into v_lane, v_priority, v_attempts, v_timeout
          from app.job_definitions d
          join app.tenants t on t.id = p_tenant and t.status = 'active'
          join app.job_queues q on q.id = coalesce(v_queue, d.queue_id)
          join app.lanes l on l.tenant_id = p_tenant and l.queue_id = q.id and l.definition_id = p_definition
            and l.band = app.band_of(coalesce(p_priority, q.default_priority))
          where d.id = p_definition and d.version = p_version and d.is_active;
      end if;
      exit when v_lane is not null;
      perform app.make_lane(p_tenant, p_definition, p_version, p_queue, p_priority);
    end loop;
    if v_lane is null then
      raise exception 'a queue or a definition changed' using errcode = 'LH002';
    end if;
    v_sort := app.sort_key_of(v_due, v_priority);
    insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority,
      payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, scheduled_for, expires_at, max_attempts,
      timeout_seconds, retry_delay_seconds, retry_multiplier, created_by, queued_at, chain_depth)
    select x.id, p_tenant, p_definition, p_version, v_lane, v_source, p_source_ref, v_priority, x.payload, v_tags, v_metadata,
      p_correlation_id, p_parent_job_id, p_retried_from_id, v_due, p_expires_at, v_attempts, v_timeout, v_delay,
      v_multiplier, p_created_by, v_now, v_depth
    from rows from (pg_catalog.unnest(v_ids), pg_catalog.jsonb_array_elements(p_payloads)) as x (id, payload);
    insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at, run_no,
      lease_no, attempts_spent, reclaims, timeouts, progress, progress_message)
    select x.id, p_tenant, v_lane, 'queued', v_ready, v_sort, v_priority, v_due, p_expires_at, v_run, v_lease, v_none, v_none,
      v_none, v_percent, v_message
    from pg_catalog.unnest(v_ids) x (id);
    insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
    values (p_tenant, p_definition, v_now, 'queued', v_count);
    new_ids := v_ids; ready := v_ready; lane_no := v_lane; queued_at := v_now; scheduled_for := v_due;
    priority := v_priority; max_attempts := v_attempts; timeout_seconds := v_timeout;
  end $$;
