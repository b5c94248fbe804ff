-- A duplicate that brings the payload or the time that its holder has already is answered as before, and leaves no line in
-- the audit: nothing changed.
--
-- A payload is not replaced once an attempt of the run has begun: steps that it stored and the idempotency key of the run
-- would pass for work on the new payload.
create or replace function app.meet_duplicate(p_tenant uuid, p_holder uuid, p_item jsonb) returns jsonb
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare
    v_mode text := coalesce(p_item ->> 'dedupe_on_conflict', 'return');
    v_due timestamptz := coalesce((p_item ->> 'scheduled_for')::timestamptz, app.now());
    v_live app.live_jobs; v_done text := 'returned'; v_changed boolean := false; v_queued timestamptz; v_outcome text;
  begin
    if v_mode = 'return' then
      select l.* into v_live from app.live_jobs l where l.tenant_id = p_tenant and l.job_id = p_holder;
    else
      select l.* into v_live from app.live_jobs l where l.tenant_id = p_tenant and l.job_id = p_holder for no key update;
    end if;
    if v_live.job_id is null and not exists (select 1 from app.dedupe_keys d where d.tenant_id = p_tenant
        and d.key = p_item ->> 'dedupe_key' and d.job_id = p_holder) then
      return null;
    end if;
    if v_live.state <> 'running' and v_live.started_at is null and v_mode = 'replace_payload' and not jsonb_path_exists(p_item, '$.depends_on[*].bindings')
        and not exists (select 1 from app.job_dependencies d where d.child_id = p_holder and d.bindings is not null) then
      select j.payload is distinct from p_item -> 'payload'
          or j.definition_version is distinct from (p_item ->> 'definition_version')::integer
        into v_changed from app.jobs j where j.id = p_holder and j.tenant_id = p_tenant;
      update app.jobs j set payload = p_item -> 'payload', definition_version = (p_item ->> 'definition_version')::integer
        where j.id = p_holder and j.tenant_id = p_tenant and j.definition_id = (p_item ->> 'definition_id')::uuid;
      if found then
        v_done := 'replaced';
        -- A claim that began before would read the payload as it was then: it skips what is not ready any more, and the
        -- next promotion makes the job ready again.
        update app.live_jobs l set ready = false where l.job_id = p_holder and l.tenant_id = p_tenant and l.ready;
        v_live.ready := false;
      end if;
    elsif v_live.state <> 'running' and v_mode = 'reschedule' and coalesce(v_live.expires_at > v_due, true) then
      v_changed := v_live.scheduled_for is distinct from v_due;
      update app.jobs j set scheduled_for = v_due where j.id = p_holder and j.tenant_id = p_tenant;
      v_done := 'rescheduled'; v_live.scheduled_for := v_due; v_live.ready := v_live.state = 'queued' and v_due <= app.now();
      update app.live_jobs l set scheduled_for = v_due, sort_key = app.sort_key_of(v_due, l.priority), ready = v_live.ready
        where l.job_id = p_holder and l.tenant_id = p_tenant;
    end if;
    if v_done <> 'returned' and v_changed then
      insert into app.job_audit (tenant_id, job_id, actor_kind, actor_id, action, from_status, to_status, request_id)
        values (p_tenant, p_holder, p_item #>> '{actor,kind}', (p_item #>> '{actor,id}')::uuid, 'dedupe_' || v_done,
          v_live.state, v_live.state, p_item #>> '{actor,request_id}');
    end if;
    select j.queued_at, coalesce(v_live.scheduled_for, j.scheduled_for), coalesce(v_live.lane_no, j.lane_no)
      into v_queued, v_live.scheduled_for, v_live.lane_no from app.jobs j where j.id = p_holder and j.tenant_id = p_tenant;
    if v_live.job_id is null then select o.outcome into v_outcome from app.outcomes_of(array[p_holder]) o; end if;
    return jsonb_build_object('job_id', p_holder, 'conflict', v_done, 'state', coalesce(v_live.state, v_outcome), 'ready',
      coalesce(v_live.ready, false), 'lane_no', v_live.lane_no, 'queued_at', v_queued, 'scheduled_for', v_live.scheduled_for);
  end $$;
